//! All ledgers keep the same rules: the same requests, drawn from a seed, get the same answers from each of them.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use futures_util::future::join_all;
use tenure::JobName;
use tenure::store::JobLedger;
use tenure::store::ledger::{
    Act, Claim, Claimed, Finish, JobOrder, JobReport, MAX_RUNS, OpenJob, OpenJobs, Opened, RunOutcome, Tick,
};

use super::stores::{AgreementPlayer, AgreementWorld, Stores};

const SEEDS: u64 = 4;
/// Enough for more runs than are kept.
const STEPS: u64 = 1_500;
/// Few, so that requests meet each other's runs.
const JOBS: u64 = 3;
/// How many ticks are kept in mind to be asked about again.
const REMEMBERED: usize = 10;

#[tokio::test]
async fn every_ledger_answers_as_the_reference_does() {
    let stores = Stores::start().await;
    let (mut seen, mut fullest) = (AgreementCounts::default(), 0);
    for seed in 0..SEEDS {
        let mut game = Game::new(AgreementWorld::new(&stores.all, seed), seen);
        for step in 0..STEPS {
            game.step(step).await;
        }
        fullest = fullest.max(game.look(usize::MAX).await.iter().map(|job| job.runs.len()).max().unwrap_or(0));
        seen = game.seen;
    }
    assert!(seen.granted > 1_000, "{seen:?} shows little");
    assert!(seen.given_back > 200 && seen.run_again > 40, "{seen:?} shows little of ticks that never began");
    assert_eq!(fullest, MAX_RUNS, "some job has had more runs than are kept");
}

/// One history, in all stores.
struct Game<'a> {
    world: AgreementWorld<'a>,
    /// The latest that were granted or given back.
    ticks: VecDeque<(JobName, Tick)>,
    given_back: BTreeSet<(JobName, Tick)>,
    seen: AgreementCounts,
}

/// How much there was to agree about.
#[derive(Debug, Clone, Copy, Default)]
struct AgreementCounts {
    granted: usize,
    given_back: usize,
    /// After they were given back.
    run_again: usize,
}

impl<'a> Game<'a> {
    fn new(world: AgreementWorld<'a>, seen: AgreementCounts) -> Self {
        Self { world, ticks: VecDeque::new(), given_back: BTreeSet::new(), seen }
    }

    async fn step(&mut self, step: u64) {
        match self.world.below(40) {
            0..6 => self.open().await,
            6..26 => self.claim(step).await,
            26..34 => self.finish(step).await,
            34..37 => {
                let max_runs = usize::try_from(self.world.below(5)).unwrap();
                self.look(max_runs).await;
            }
            37 if self.world.below(20) == 0 => self.forget().await,
            37 if self.world.below(4) == 0 => self.steer().await,
            _ => {
                self.world.change_leader().await;
                // Mostly somebody leads.
                if self.world.below(3) > 0 {
                    self.world.change_leader().await;
                }
            }
        }
    }

    async fn open(&mut self) {
        let player = self.world.player();
        let count = self.world.below(JOBS + 1);
        let jobs: Vec<OpenJob> = (0..count).map(|_| self.open_job()).collect();
        let key = self.world.key.clone();
        let request = |store: usize| {
            let (key, jobs) = (key.clone(), jobs.clone());
            OpenJobs { key, nonce: player.nonce, term: player.terms[store], jobs }
        };
        let answers = self.ask(async |store, ledger| same_second(ledger.open(&request(store)).await.unwrap())).await;
        self.world.agreed(&format!("open {jobs:?} as {}", player.candidate), answers);
    }

    async fn claim(&mut self, step: u64) {
        let player = self.world.player();
        let count = self.world.below(6) + 1;
        let drawn: Vec<((JobName, Tick), Act, u64)> =
            (0..count).map(|_| (self.tick(step, 2), self.act(), self.world.below(3))).collect();
        let key = self.world.key.clone();
        let request = |store: usize, ((job, tick), act, missed): &((JobName, Tick), Act, u64)| {
            let AgreementPlayer { candidate, nonce, terms, .. } = player.clone();
            let (key, term, job) = (key.clone(), terms[store], job.clone());
            Claim { key, nonce, term, candidate, job, tick: *tick, act: *act, missed: *missed }
        };
        let answers = self
            .ask(async |store, ledger| {
                let batch: Vec<Claim> = drawn.iter().map(|drawn| request(store, drawn)).collect();
                ledger.claim(&batch).await.into_iter().map(Result::unwrap).collect::<Vec<_>>()
            })
            .await;
        let claimed = self.world.agreed(&format!("claim {drawn:?} as {}", player.candidate), answers);
        for ((tick, act, _), claimed) in drawn.into_iter().zip(claimed) {
            if claimed == Claimed::Granted && act.is_run() {
                self.seen.granted += 1;
                self.seen.run_again += usize::from(self.given_back.remove(&tick));
                self.remember(tick);
            }
        }
    }

    async fn finish(&mut self, step: u64) {
        let player = self.world.player();
        let count = self.world.below(4) + 1;
        let drawn: Vec<((JobName, Tick), RunOutcome)> =
            (0..count).map(|_| (self.tick(step, 5), self.outcome())).collect();
        let key = self.world.key.clone();
        let request = |store: usize, ((job, tick), outcome): &((JobName, Tick), RunOutcome)| {
            let (key, term, job, outcome) = (key.clone(), player.terms[store], job.clone(), outcome.clone());
            let (took, retries) = (Duration::from_nanos(7), u32::from(tick.unix_s().is_multiple_of(3)));
            Finish { key, nonce: player.nonce, term, job, tick: *tick, took, retries, outcome }
        };
        let answers = self
            .ask(async |store, ledger| {
                let batch: Vec<Finish> = drawn.iter().map(|drawn| request(store, drawn)).collect();
                ledger.finish(&batch).await.into_iter().map(Result::unwrap).collect::<Vec<_>>()
            })
            .await;
        let told = self.world.agreed(&format!("finish {drawn:?} as {}", player.candidate), answers);
        for ((tick, outcome), is_written) in drawn.into_iter().zip(told) {
            if is_written && outcome == RunOutcome::NotBegun && self.given_back.insert(tick.clone()) {
                self.seen.given_back += 1;
                self.remember(tick);
            }
        }
    }

    async fn look(&mut self, max_runs: usize) -> Vec<JobReport> {
        let key = self.world.key.clone();
        let answers = self.ask(async |_, ledger| comparable(ledger.jobs(&key, max_runs).await.unwrap())).await;
        self.world.agreed(&format!("jobs with at most {max_runs} runs"), answers)
    }

    /// Mostly nothing is paused.
    async fn steer(&mut self) {
        let (key, job) = (self.world.key.clone(), self.job());
        let orders = [JobOrder::Pause, JobOrder::RunNow, JobOrder::Resume, JobOrder::Resume];
        let first = usize::try_from(self.world.below(2)).unwrap();
        for order in &orders[first..] {
            let answers = self.ask(async |_, ledger| ledger.steer(&key, &job, *order).await.unwrap()).await;
            self.world.agreed(&format!("{order:?} {job}"), answers);
            self.claim(0).await;
            self.look(0).await;
        }
    }

    async fn forget(&mut self) {
        let (key, job) = (self.world.key.clone(), self.job());
        let answers = self.ask(async |_, ledger| ledger.forget(&key, &job).await.unwrap()).await;
        self.world.agreed(&format!("forget {job}"), answers);
    }

    async fn ask<T>(&self, act: impl AsyncFn(usize, &dyn JobLedger) -> T) -> Vec<T> {
        join_all(self.world.stores.iter().enumerate().map(|(number, store)| act(number, store.ledger().unwrap()))).await
    }

    fn open_job(&mut self) -> OpenJob {
        let schedule = if self.world.below(10) == 0 { "other" } else { "usual" };
        OpenJob { job: self.job(), schedule: schedule.into(), from: Tick::from_unix_s(self.world.below(50)) }
    }

    fn job(&mut self) -> JobName {
        JobName::new(format!("job {}", self.world.below(JOBS))).unwrap()
    }

    fn remember(&mut self, tick: (JobName, Tick)) {
        self.ticks.push_back(tick);
        if self.ticks.len() > REMEMBERED {
            self.ticks.pop_front();
        }
    }

    /// One that was granted or given back just before, or any other: one in so many. They grow, and meet earlier ones now and then.
    fn tick(&mut self, step: u64, others: u64) -> (JobName, Tick) {
        let any = (self.job(), Tick::from_unix_s(6 * step + self.world.below(12)));
        let known = usize::try_from(self.world.below(REMEMBERED as u64)).unwrap();
        if self.world.below(others) == 0 { any } else { self.ticks.get(known).cloned().unwrap_or(any) }
    }

    fn act(&mut self) -> Act {
        match self.world.below(16) {
            0..8 => Act::Run,
            8..14 => Act::RunAgain,
            14 => Act::Skip,
            _ => Act::Pass,
        }
    }

    fn outcome(&mut self) -> RunOutcome {
        match self.world.below(7) {
            0 => RunOutcome::Succeeded,
            1 => RunOutcome::Failed { why: format!("number {}", self.world.below(9)) },
            2 => RunOutcome::TimedOut,
            3 => RunOutcome::Cancelled,
            _ => RunOutcome::NotBegun,
        }
    }
}

/// Each store has its own clock.
fn same_second(mut opened: Opened) -> Opened {
    if let Opened::Jobs(opened) = &mut opened {
        opened.iter_mut().for_each(|opened| opened.requested = opened.requested.map(|_| Tick::default()));
    }
    opened
}

/// Each store has its own clock and its own terms.
fn comparable(mut jobs: Vec<JobReport>) -> Vec<JobReport> {
    for job in &mut jobs {
        job.paused_at_unix_ms = job.paused_at_unix_ms.map(|_| 0);
        job.requested = job.requested.map(|_| Tick::default());
    }
    for run in jobs.iter_mut().flat_map(|job| &mut job.runs) {
        run.term = tenure_core::Term::new(1).unwrap();
        run.began_at_unix_ms = 0;
        if let Some(end) = &mut run.end {
            end.at_unix_ms = 0;
        }
    }
    jobs
}
