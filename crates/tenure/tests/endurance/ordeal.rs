//! The run itself: who leads is struck, again and again, and in the end everything is judged.

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use tenure_testkit::bound::boot_ns;
use tenure_testkit::scenario::ELECTION;
use tenure_testkit::{PATIENCE, eventually_within};

use crate::candidacy::{Files, JOBS};
use crate::contender::{Contenders, PLACES};
use crate::events;
use crate::journal::RunJournal;
use crate::judge::Evidence;
use crate::observed::ObservedJobs;
use crate::rng::EnduranceRng;
use crate::stamp::{Stamp, unix_ms};
use crate::strike::{Strike, StrikeKind};

/// How long candidates are struck.
const SECONDS: &str = "TENURE_ENDURE_SECONDS";
const SECONDS_USUAL: u64 = 20;
/// What follows from the same number is the same.
const SEED: &str = "TENURE_ENDURE_SEED";
/// At which moments faults come.
const AIM: &str = "TENURE_ENDURE_AIM";

/// How often one looks who leads, and at what the store has written down.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const COPY_EVERY: Duration = Duration::from_secs(2);
const TELL_EVERY: Duration = Duration::from_secs(10);
/// How long what was given back may lie there when all is well again.
const MAX_CALM: Duration = Duration::from_secs(40);

/// One store under test.
pub(crate) struct Ordeal {
    store: &'static str,
    lasts: Duration,
    seed: u64,
    aim: Aim,
    rng: EnduranceRng,
}

/// At which moments faults come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Every other time right when ticks are due, so that claims are under way.
    Claim,
    /// Whenever chance wants it.
    Anywhere,
}

/// What goes on.
struct OrdealState {
    contenders: Contenders,
    observed: ObservedJobs,
    strikes: Vec<Strike>,
    /// By contender: which strike it suffers, and when that ends.
    down: Vec<Option<(usize, Instant)>>,
}

impl Ordeal {
    pub(crate) fn new(store: &'static str) -> Self {
        let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
        let seed = number(SEED).unwrap_or_else(|| boot_ns() % 1_000_000);
        let lasts = Duration::from_secs(number(SECONDS).unwrap_or(SECONDS_USUAL));
        let aim = match env::var(AIM).as_deref() {
            Err(_) | Ok("claim") => Aim::Claim,
            Ok("anywhere") => Aim::Anywhere,
            Ok(other) => panic!("{AIM} is {other:?}"),
        };
        Self { store, lasts, seed, aim, rng: EnduranceRng::of(seed) }
    }

    /// Lets contenders go through it, and judges.
    pub(crate) fn endure(mut self, contenders: impl FnOnce(&Files) -> Contenders) {
        self.say("begin", &format!("{} s, seed {}", self.lasts.as_secs(), self.seed));
        let directory = tempfile::tempdir().unwrap();
        let path = |name| directory.path().join(name);
        let files = Files { journal: RunJournal::at(path("journal")), events: path("events") };
        let contenders = contenders(&files);
        let down = contenders.contenders.iter().map(|_| None).collect();
        let mut state = OrdealState { contenders, observed: ObservedJobs::default(), strikes: Vec::new(), down };
        self.torment(&mut state, &files);
        let left_at_unix_ms = Some(state.come_to_rest(&files));
        let evidence = Evidence { left_at_unix_ms, ..state.evidence(&files) };
        let struck = StrikeKind::tally(evidence.strikes.iter().map(|strike| strike.kind));
        let verdict = evidence.judge(&JOBS);
        let (lasted, faults) = (self.lasts.as_secs(), evidence.strikes.len());
        self.say("result", &format!("{lasted} s, seed {}: {verdict}; {faults} faults: {struck}", self.seed));
        assert_eq!(verdict.violations, Vec::<String>::new(), "seed {}", self.seed);
        assert_eq!(events::wrong(&files.events), None, "seed {}", self.seed);
        assert!(evidence.strikes.len() > PLACES.len(), "nobody was struck before all left");
    }

    /// Strikes whoever leads, every few seconds.
    fn torment(&mut self, state: &mut OrdealState, files: &Files) {
        let began = Instant::now();
        let [mut copied, mut told] = [began; 2];
        // Counted from when somebody is seen to lead, so that everybody does for a while.
        let mut planned = None;
        while began.elapsed() < self.lasts {
            state.mend_those_whose_time_is_over();
            if copied.elapsed() >= COPY_EVERY {
                (copied, _) = (Instant::now(), state.observed.copy(&state.contenders.watcher));
            }
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                let (fired, struck) = (files.journal.read().len() / 2, state.strikes.len());
                let (so_far, all) = (began.elapsed().as_secs(), self.lasts.as_secs());
                self.say("progress", &format!("{so_far} of {all} s, {fired} runs, {struck} faults"));
            }
            let leader = state.leader();
            let look = Instant::now() + LOOK_EVERY;
            let next = leader.map_or(look, |_| *planned.get_or_insert_with(|| self.next_strike()));
            wait_until(next.min(look));
            if let (Some(index), true) = (leader, Instant::now() >= next) {
                let kind = self.rng.pick(state.contenders.kinds);
                state.strike(index, kind, kind.lasts(&mut self.rng));
                planned = None;
            }
        }
    }

    /// In a moment.
    fn next_strike(&mut self) -> Instant {
        let (wait, is_aimed, after_ms) = (self.rng.between(300, 4_000), self.rng.once_in(2), self.rng.between(0, 25));
        let next = Instant::now() + Duration::from_millis(wait);
        let past_second_ms = (unix_ms() + wait) % 1_000;
        let is_aimed = is_aimed && self.aim == Aim::Claim;
        if is_aimed { next + Duration::from_millis(1_000 - past_second_ms + after_ms) } else { next }
    }

    /// `cargo xtask endure` reads this.
    fn say(&self, what: &str, how: &str) {
        // On a line of its own, whatever the test runner has printed before.
        println!("\nendure {what} {}: {how}", self.store);
    }
}

impl OrdealState {
    /// Who leads and is not suffering, if the store knows.
    fn leader(&self) -> Option<usize> {
        let seen = self.contenders.watcher.election(ELECTION).unwrap().observe().ok()?;
        let label = seen.lease?.leader.candidate.to_string();
        let index = self.contenders.contenders.iter().position(|contender| contender.label() == label)?;
        self.down[index].is_none().then_some(index)
    }

    fn strike(&mut self, index: usize, kind: StrikeKind, lasts: Duration) {
        let contender = &mut self.contenders.contenders[index];
        let (candidate, from) = (contender.label(), Stamp::now());
        contender.strike(kind);
        let done = Stamp::now();
        self.down[index] = Some((self.strikes.len(), Instant::now() + lasts));
        self.strikes.push(Strike { kind, candidate, from, done, until: done });
    }

    fn mend_those_whose_time_is_over(&mut self) {
        for index in 0..self.down.len() {
            if self.down[index].is_some_and(|(_, until)| Instant::now() >= until) {
                self.mend(index);
            }
        }
    }

    fn mend(&mut self, index: usize) {
        let Some((strike, _)) = self.down[index].take() else { return };
        let strike = &mut self.strikes[strike];
        // Right before it goes on: what it does next comes after this.
        if !matches!(strike.kind, StrikeKind::Kill | StrikeKind::Leave) {
            strike.until = Stamp::now();
        }
        self.contenders.contenders[index].mend();
    }

    fn evidence(&self, files: &Files) -> Evidence {
        let (observed, strikes) = (self.observed.clone(), self.strikes.clone());
        Evidence { lines: files.journal.read(), observed, strikes, left_at_unix_ms: None }
    }

    /// Undoes everything, waits until all that was due has been decided and what was given back has been run, and lets
    /// everybody leave. Returns when that began.
    fn come_to_rest(&mut self, files: &Files) -> u64 {
        (0..self.down.len()).for_each(|index| self.mend(index));
        let now_s = unix_ms() / 1_000;
        eventually_within(PATIENCE * 4, "all jobs to catch up", || {
            wait_until(Instant::now() + LOOK_EVERY);
            self.observed.copy(&self.contenders.watcher)
                && JOBS.iter().all(|missed| self.observed.mark(*missed) >= Some(now_s))
        });
        // Whoever leads looks every ten seconds for what was given back late. The judge says what is missing after that.
        let calm_until = Instant::now() + MAX_CALM;
        while Instant::now() < calm_until && !JOBS.iter().all(|missed| self.evidence(files).is_settled(*missed)) {
            wait_until(Instant::now() + LOOK_EVERY);
            self.observed.copy(&self.contenders.watcher);
        }
        let left_at = unix_ms();
        // That, too, may come between a claim and its work.
        (0..self.down.len()).for_each(|index| self.strike(index, StrikeKind::Leave, Duration::ZERO));
        eventually_within(PATIENCE, "the books", || self.observed.copy(&self.contenders.watcher));
        left_at
    }
}

fn wait_until(moment: Instant) {
    // Waits because faults come at moments that chance has chosen.
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}
