//! The rules of a store are the rules of the core: whatever happens, both give the same answers.
//!
//! The memory store runs the rules that are simulated and model-checked. Here the same requests, drawn from a seed, go to it
//! and to a real server, whose clocks are moved together.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tenure::store::{Campaign, ElectionKey, MemoryStore, Renew, Replies, Resign, Store};
use tenure::testing::VirtualClock;
use tenure::{CandidateId, Clock, ElectionName, LossReason, Metadata, Namespace, Priority, Term};
use tenure_core::{CampaignReply, Nonce, RenewReply};

use crate::wall_clock::FakeWallClock;

const SEEDS: u64 = 30;
const STEPS: u64 = 90;
const CANDIDATES: u64 = 4;

/// Gives both stores the same requests. The other one is opened with the clock of this machine, as it is here; its server
/// lives under `wall_clock`, and tells its time of day in milliseconds.
pub async fn answers_as_the_reference_does(
    wall_clock: FakeWallClock,
    now_ms: impl FnMut() -> u64 + 'static,
    open: impl FnOnce(Clock) -> Arc<dyn Store>,
) {
    let mut world = RulesWorld::new(wall_clock, Box::new(now_ms), open);
    let mut grants = 0;
    for seed in 0..SEEDS {
        world.begin(seed);
        for _ in 0..STEPS {
            world.step().await;
        }
        world.look_back().await;
        grants += world.terms.len();
    }
    assert!(grants > 100, "{grants} grants show little");
}

/// Both stores, and what is known of them.
struct RulesWorld {
    now_ms: Box<dyn FnMut() -> u64>,
    wall_clock: FakeWallClock,
    local: Arc<VirtualClock>,
    began_ms: u64,
    moved: Duration,
    memory: MemoryStore,
    other: Arc<dyn Store>,
    chance: u64,
    key: ElectionKey,
    players: Vec<RulesPlayer>,
    /// The terms of the memory store, and those of the other that were granted at the same moments.
    terms: BTreeMap<Term, Term>,
    log: Vec<String>,
}

struct RulesPlayer {
    candidate: CandidateId,
    nonce: Nonce,
    /// The last grant, in the numbers of the memory store.
    term: Option<Term>,
}

impl RulesWorld {
    fn new(
        wall_clock: FakeWallClock,
        mut now_ms: Box<dyn FnMut() -> u64>,
        open: impl FnOnce(Clock) -> Arc<dyn Store>,
    ) -> Self {
        let local = VirtualClock::new();
        let clock = Clock::controlled_by(&local);
        let began_ms = now_ms();
        // Or as much time would go by on the server, and not here, as the machine takes for each step.
        wall_clock.stop_at(Duration::from_millis(began_ms));
        Self {
            began_ms,
            now_ms,
            wall_clock,
            moved: Duration::ZERO,
            memory: MemoryStore::with_clock(clock.clone()),
            other: open(clock),
            local,
            chance: 0,
            key: key("none"),
            players: Vec::new(),
            terms: BTreeMap::new(),
            log: Vec::new(),
        }
    }

    /// A new election with new candidates.
    fn begin(&mut self, seed: u64) {
        // Far from a multiple of what a draw adds, or all seeds would give the same draws, only shifted.
        self.chance = (seed + 1).wrapping_mul(0xD134_2543_DE82_EF95);
        self.key = key(&format!("seed-{seed}"));
        self.terms.clear();
        self.log.clear();
        // Always two of them share an id: it decides nothing.
        self.players = (0..CANDIDATES).map(|number| self.player(&format!("c{}", number % 2))).collect();
    }

    fn player(&mut self, candidate: &str) -> RulesPlayer {
        let nonce = u128::from(self.draw()) << 64 | u128::from(self.draw());
        RulesPlayer { candidate: CandidateId::new(candidate).unwrap(), nonce: Nonce::from_bits(nonce), term: None }
    }

    async fn step(&mut self) {
        self.pass_time();
        let player = usize::try_from(self.below(CANDIDATES)).unwrap();
        match self.below(10) {
            0..4 => self.campaign(player).await,
            4..6 => self.renew(player).await,
            6..8 => self.resign(player).await,
            8 => self.request_handover().await,
            _ => {
                let name = self.players[player].candidate.to_string();
                self.players[player] = self.player(&name);
            }
        }
        self.look().await;
    }

    /// Moves both clocks on: by nothing, past a reservation, past a lease, or past everything.
    fn pass_time(&mut self) {
        let jump_s = [0, 0, 0, 10, 40][usize::try_from(self.below(5)).unwrap()];
        // Whoever comes first is told by the millisecond.
        let by = Duration::from_secs(jump_s) + Duration::from_millis(2);
        self.moved += by;
        self.local.advance(by);
        let shown = Duration::from_millis(self.began_ms) + self.moved;
        self.wall_clock.stop_at(shown);
        assert_eq!(u128::from((self.now_ms)()), shown.as_millis(), "the clock of the server does as it is told");
    }

    async fn campaign(&mut self, player: usize) {
        let seconds = |count: u64| Duration::from_secs(5 + 10 * count);
        let (ttl, stand_by_for) = (seconds(self.below(4)), seconds(1 + self.below(6)));
        let priority = Priority::new(if self.below(3) == 0 { 9 } else { 10 }).unwrap();
        let RulesPlayer { candidate, nonce, .. } = &self.players[player];
        let request = Campaign {
            key: self.key.clone(),
            candidate: candidate.clone(),
            nonce: *nonce,
            ttl,
            priority,
            metadata: Metadata::new([("of".to_owned(), candidate.to_string())].into()),
            stand_by_for,
        };
        let (memory, other) = (
            only(self.memory.campaign(std::slice::from_ref(&request)).await),
            only(self.other.campaign(&[request]).await),
        );
        self.note("campaigns", player, &memory, &other);
        match (memory, other) {
            (CampaignReply::Granted { term }, CampaignReply::Granted { term: theirs }) => {
                let known = *self.terms.entry(term).or_insert(theirs);
                self.agree(&known, &theirs);
                self.players[player].term = Some(term);
            }
            (CampaignReply::Held(ours), CampaignReply::Held(theirs)) => {
                self.agree(&ours.rank, &theirs.rank);
                self.agree_nearly(ours.remaining, theirs.remaining);
                let seen = |leader: tenure::Leader| (leader.candidate, leader.term, leader.metadata);
                let ours = ours.leader.map(|leader| seen(tenure::Leader { term: self.terms[&leader.term], ..leader }));
                self.agree(&ours, &theirs.leader.map(seen));
            }
            (ours, theirs) => self.agree(&format!("{ours:?}"), &format!("{theirs:?}")),
        }
    }

    async fn renew(&mut self, player: usize) {
        let Some(term) = self.some_term(player) else { return };
        let ttl = Duration::from_secs(5 + 10 * self.below(4));
        let request = |term| Renew { key: self.key.clone(), nonce: self.players[player].nonce, term, ttl };
        let memory = only(self.memory.renew(&[request(term)]).await);
        let other = only(self.other.renew(&[request(self.terms[&term])]).await);
        self.note("renews", player, &memory, &other);
        let memory = match memory {
            RenewReply::NotHolder { current } => {
                RenewReply::NotHolder { current: current.map(|current| self.terms[&current]) }
            }
            renewed @ RenewReply::Renewed { .. } => renewed,
        };
        self.agree(&memory, &other);
    }

    async fn resign(&mut self, player: usize) {
        let term = self.some_term(player).filter(|_| !self.chance.is_multiple_of(3));
        let successor = match self.below(3) {
            0 => Some(CandidateId::new(format!("c{}", self.below(4))).unwrap()),
            _ => None,
        };
        let request = |term| Resign {
            key: self.key.clone(),
            nonce: self.players[player].nonce,
            term,
            successor: successor.clone(),
            reason: LossReason::Resigned,
        };
        only(self.memory.resign(&[request(term)]).await);
        only(self.other.resign(&[request(term.map(|term| self.terms[&term]))]).await);
        self.note("resigns", player, &term, &successor);
    }

    async fn request_handover(&mut self) {
        let successor = CandidateId::new("c1").unwrap();
        let successor = Some(&successor).filter(|_| self.chance.is_multiple_of(2));
        let memory = self.memory.request_handover(&self.key, successor).await.unwrap();
        let other = self.other.request_handover(&self.key, successor).await.unwrap();
        self.note("is asked to hand over", 0, &memory, &other);
        self.agree(&memory, &other);
    }

    async fn look(&mut self) {
        let keys = [self.key.clone()];
        let (memory, other) = (only(self.memory.observe(&keys).await), only(self.other.observe(&keys).await));
        self.agree(&memory.last_term.map(|term| self.terms[&term]), &other.last_term);
        self.agree(&memory.reserved_for, &other.reserved_for);
        let line = |seen: &tenure::store::Observation| -> Vec<(CandidateId, Priority)> {
            seen.standing_by.iter().map(|stand_by| (stand_by.candidate.clone(), stand_by.priority)).collect()
        };
        self.agree(&line(&memory), &line(&other));
        self.agree(&memory.lease.as_ref().map(|lease| lease.ttl), &other.lease.as_ref().map(|lease| lease.ttl));
        if let (Some(ours), Some(theirs)) = (memory.lease, other.lease) {
            self.agree_nearly(ours.remaining.unwrap_or_default(), theirs.remaining.unwrap_or_default());
            self.agree(&ours.leader.candidate, &theirs.leader.candidate);
            self.agree(&self.terms[&ours.leader.term], &theirs.leader.term);
        }
    }

    /// Nothing that was recorded is changed later, so once is enough.
    async fn look_back(&self) {
        let told = |history: Vec<tenure::store::Transition>| -> Vec<_> {
            history.into_iter().map(|line| (line.term, line.candidate, line.change, line.reason)).collect()
        };
        let ours = told(self.memory.history(&self.key, 100).await.unwrap());
        let ours: Vec<_> = ours.into_iter().map(|(term, a, b, c)| (self.terms[&term], a, b, c)).collect();
        self.agree(&ours, &told(self.other.history(&self.key, 100).await.unwrap()));
    }

    /// The last term of this candidate or, now and then, any term there was: a request may be old, or wrong.
    fn some_term(&mut self, player: usize) -> Option<Term> {
        let any = usize::try_from(self.below(3 * self.terms.len() as u64 + 1)).unwrap();
        self.terms.keys().nth(any).copied().or(self.players[player].term)
    }

    fn note(&mut self, what: &str, player: usize, ours: &dyn Debug, theirs: &dyn Debug) {
        let RulesPlayer { candidate, .. } = &self.players[player];
        self.log.push(format!("{:?} {player} ({candidate}) {what}: {ours:?} | {theirs:?}", self.moved));
    }

    fn agree<T: PartialEq + Debug>(&self, ours: &T, theirs: &T) {
        assert_eq!(ours, theirs, "{}: they differ after\n{}", self.key, self.log.join("\n"));
    }

    fn agree_nearly(&self, ours: Duration, theirs: Duration) {
        let near = ours.abs_diff(theirs) < Duration::from_secs(1);
        assert!(near, "{}: {ours:?} and {theirs:?} differ after\n{}", self.key, self.log.join("\n"));
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    /// SplitMix64.
    fn draw(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.chance;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }
}

fn key(name: &str) -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new(name).unwrap() }
}

fn only<T>(mut replies: Replies<T>) -> T {
    replies.pop().unwrap().unwrap()
}
