//! The rules in Lua are the rules of the core: whatever happens, both give the same answers.
//!
//! The memory store runs the rules that are simulated and model-checked. Here the same requests, drawn from a seed, go to it
//! and to a Redis server, whose clocks are moved together.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tenure::store::redis::{RedisConfig, RedisStore};
use tenure::store::{Campaign, ElectionKey, MemoryStore, Renew, Replies, Resign, Store};
use tenure::testing::VirtualClock;
use tenure::{CandidateId, Clock, ElectionName, LossReason, Metadata, Namespace, Priority, Term};
use tenure_core::{CampaignReply, Nonce, RenewReply};
use tenure_testkit::redis::{RedisOptions, RedisServer};
use tenure_testkit::wall_clock::WallClock;

const SEEDS: u64 = 30;
const STEPS: u64 = 90;
const CANDIDATES: u64 = 4;

#[tokio::test]
async fn redis_answers_as_the_reference_does() {
    let directory = tempfile::tempdir().unwrap();
    let wall_clock = WallClock::at(directory.path().join("clock"));
    let server = RedisServer::start_with(RedisOptions::default().wall_clock(&wall_clock));
    let mut world = World::new(&server, wall_clock);
    let mut grants = 0;
    for seed in 0..SEEDS {
        world.begin(seed);
        for _ in 0..STEPS {
            world.step().await;
        }
        grants += world.terms.len();
    }
    assert!(grants > 100, "{grants} grants show little");
}

/// Both stores, and what is known of them.
struct World {
    server: RedisServerHandle,
    wall_clock: WallClock,
    offset_s: i64,
    local: Arc<VirtualClock>,
    began_ms: u64,
    moved: Duration,
    memory: MemoryStore,
    redis: RedisStore,
    chance: u64,
    key: ElectionKey,
    players: Vec<Player>,
    /// The terms of the memory store, and those of Redis that were granted at the same moments.
    terms: BTreeMap<Term, Term>,
    log: Vec<String>,
}

struct RedisServerHandle(redis::Connection);

struct Player {
    candidate: CandidateId,
    nonce: Nonce,
    /// The last grant, in the numbers of the memory store.
    term: Option<Term>,
}

impl World {
    fn new(server: &RedisServer, wall_clock: WallClock) -> Self {
        let local = VirtualClock::new();
        let clock = Clock::controlled_by(&local);
        let config = RedisConfig::from_url(&server.url().parse().unwrap()).unwrap();
        let mut connection = RedisServerHandle(server.connection());
        Self {
            began_ms: connection.time_ms(),
            server: connection,
            wall_clock,
            offset_s: 0,
            moved: Duration::ZERO,
            memory: MemoryStore::with_clock(clock.clone()),
            redis: RedisStore::open_with_clock(&config, clock).unwrap(),
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
        // Two of them share an id: it decides nothing.
        self.players = (0..CANDIDATES).map(|number| self.player(&format!("c{}", number % 3))).collect();
    }

    fn player(&mut self, candidate: &str) -> Player {
        let nonce = u128::from(self.draw()) << 64 | u128::from(self.draw());
        Player { candidate: CandidateId::new(candidate).unwrap(), nonce: Nonce::from_bits(nonce), term: None }
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
        self.offset_s += jump_s;
        self.wall_clock.jump_to(self.offset_s);
        // Waits because whoever comes first is told by the millisecond.
        std::thread::sleep(Duration::from_millis(2));
        let shown = Duration::from_millis(self.server.time_ms() - self.began_ms);
        self.local.advance(shown - self.moved);
        self.moved = shown;
    }

    async fn campaign(&mut self, player: usize) {
        let seconds = |count: u64| Duration::from_secs(5 + 10 * count);
        let (ttl, stand_by_for) = (seconds(self.below(4)), seconds(1 + self.below(6)));
        let priority = Priority::new(if self.below(3) == 0 { 9 } else { 10 }).unwrap();
        let Player { candidate, nonce, .. } = &self.players[player];
        let request = Campaign {
            key: self.key.clone(),
            candidate: candidate.clone(),
            nonce: *nonce,
            ttl,
            priority,
            metadata: Metadata::new([("of".to_owned(), candidate.to_string())].into()),
            stand_by_for,
        };
        let (memory, redis) = (
            only(self.memory.campaign(std::slice::from_ref(&request)).await),
            only(self.redis.campaign(&[request]).await),
        );
        self.note("campaigns", player, &memory, &redis);
        match (memory, redis) {
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
        let redis = only(self.redis.renew(&[request(self.terms[&term])]).await);
        self.note("renews", player, &memory, &redis);
        let memory = match memory {
            RenewReply::NotHolder { current } => {
                RenewReply::NotHolder { current: current.map(|current| self.terms[&current]) }
            }
            renewed @ RenewReply::Renewed { .. } => renewed,
        };
        self.agree(&memory, &redis);
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
        only(self.redis.resign(&[request(term.map(|term| self.terms[&term]))]).await);
        self.note("resigns", player, &term, &successor);
    }

    async fn request_handover(&mut self) {
        let successor = CandidateId::new("c1").unwrap();
        let successor = Some(&successor).filter(|_| self.chance.is_multiple_of(2));
        let memory = self.memory.request_handover(&self.key, successor).await.unwrap();
        let redis = self.redis.request_handover(&self.key, successor).await.unwrap();
        self.note("is asked to hand over", 0, &memory, &redis);
        self.agree(&memory, &redis);
    }

    async fn look(&mut self) {
        let keys = [self.key.clone()];
        let (memory, redis) = (only(self.memory.observe(&keys).await), only(self.redis.observe(&keys).await));
        self.agree(&memory.last_term.map(|term| self.terms[&term]), &redis.last_term);
        self.agree(&memory.reserved_for, &redis.reserved_for);
        let line = |seen: &tenure::store::Observation| -> Vec<(CandidateId, Priority)> {
            seen.standing_by.iter().map(|stand_by| (stand_by.candidate.clone(), stand_by.priority)).collect()
        };
        self.agree(&line(&memory), &line(&redis));
        self.agree(&memory.lease.as_ref().map(|lease| lease.ttl), &redis.lease.as_ref().map(|lease| lease.ttl));
        if let (Some(ours), Some(theirs)) = (memory.lease, redis.lease) {
            self.agree_nearly(ours.remaining, theirs.remaining);
            self.agree(&ours.leader.candidate, &theirs.leader.candidate);
            self.agree(&self.terms[&ours.leader.term], &theirs.leader.term);
        }
        let told = |history: Vec<tenure::store::Transition>| -> Vec<_> {
            history.into_iter().map(|line| (line.term, line.candidate, line.change, line.reason)).collect()
        };
        let ours = told(self.memory.history(&self.key, 100).await.unwrap());
        let ours: Vec<_> = ours.into_iter().map(|(term, a, b, c)| (self.terms[&term], a, b, c)).collect();
        self.agree(&ours, &told(self.redis.history(&self.key, 100).await.unwrap()));
    }

    /// The last term of this candidate or, now and then, any term there was: a request may be old, or wrong.
    fn some_term(&mut self, player: usize) -> Option<Term> {
        let any = usize::try_from(self.below(3 * self.terms.len() as u64 + 1)).unwrap();
        self.terms.keys().nth(any).copied().or(self.players[player].term)
    }

    fn note(&mut self, what: &str, player: usize, ours: &dyn Debug, theirs: &dyn Debug) {
        let Player { candidate, .. } = &self.players[player];
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

impl RedisServerHandle {
    fn time_ms(&mut self) -> u64 {
        let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(&mut self.0).unwrap();
        seconds * 1_000 + micros / 1_000
    }
}

fn key(name: &str) -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new(name).unwrap() }
}

fn only<T>(mut replies: Replies<T>) -> T {
    replies.pop().unwrap().unwrap()
}
