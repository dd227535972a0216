//! All ledgers keep the same rules: the same requests, drawn from a seed, get the same answers from each of them.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

#[path = "shared/agreement.rs"]
mod agreement;

use std::time::Duration;

use futures_util::future::join_all;
use tenure::JobName;
use tenure::store::JobLedger;
use tenure::store::ledger::{Act, Claim, Claimed, Finish, JobReport, Open, OpenJob, Outcome, RUNS_MAX, Tick};

use self::agreement::{Player, Stores, World};

const SEEDS: u64 = 4;
/// Enough for more runs than are kept.
const STEPS: u64 = 1_200;
/// Few, so that requests meet each other's runs.
const JOBS: u64 = 3;

#[tokio::test]
async fn every_ledger_answers_as_the_reference_does() {
    let stores = Stores::start().await;
    let (mut granted, mut fullest) = (0, 0);
    for seed in 0..SEEDS {
        let mut world = World::new(&stores.all, seed);
        for step in 0..STEPS {
            granted += world.step(step).await;
        }
        fullest = fullest.max(world.look(usize::MAX).await.iter().map(|job| job.runs.len()).max().unwrap_or(0));
    }
    assert!(granted > 1_000, "{granted} ticks show little");
    assert_eq!(fullest, RUNS_MAX, "some job has had more runs than are kept");
}

impl World<'_> {
    /// Returns how many ticks were granted.
    async fn step(&mut self, step: u64) -> usize {
        match self.below(40) {
            0..6 => self.open().await,
            6..26 => return self.claim(step).await,
            26..34 => self.finish(step).await,
            34..37 => {
                let runs_max = usize::try_from(self.below(5)).unwrap();
                self.look(runs_max).await;
            }
            37 if self.below(20) == 0 => self.forget().await,
            _ => {
                self.change_leader().await;
                // Mostly somebody leads.
                if self.below(3) > 0 {
                    self.change_leader().await;
                }
            }
        }
        0
    }

    async fn open(&mut self) {
        let player = self.player();
        let count = self.below(JOBS + 1);
        let jobs: Vec<OpenJob> = (0..count).map(|_| self.open_job()).collect();
        let key = self.key.clone();
        let request = |store: usize| {
            let (key, jobs) = (key.clone(), jobs.clone());
            Open { key, nonce: player.nonce, term: player.terms[store], jobs }
        };
        let answers = self.ask(async |store, ledger| ledger.open(&request(store)).await.unwrap()).await;
        self.agreed(&format!("open {jobs:?} as {}", player.candidate), answers);
    }

    async fn claim(&mut self, step: u64) -> usize {
        let player = self.player();
        let count = self.below(4) + 1;
        let drawn: Vec<(JobName, Tick, Act, u64)> =
            (0..count).map(|_| (self.job(), self.tick(step), self.act(), self.below(3))).collect();
        let key = self.key.clone();
        let request = |store: usize, (job, tick, act, missed): &(JobName, Tick, Act, u64)| {
            let Player { candidate, nonce, terms, .. } = player.clone();
            let (key, term, job) = (key.clone(), terms[store], job.clone());
            Claim { key, nonce, term, candidate, job, tick: *tick, act: *act, missed: *missed }
        };
        let answers = self
            .ask(async |store, ledger| {
                let batch: Vec<Claim> = drawn.iter().map(|drawn| request(store, drawn)).collect();
                ledger.claim(&batch).await.into_iter().map(Result::unwrap).collect::<Vec<_>>()
            })
            .await;
        let claimed = self.agreed(&format!("claim {drawn:?} as {}", player.candidate), answers);
        claimed.into_iter().filter(|claimed| *claimed == Claimed::Granted).count()
    }

    async fn finish(&mut self, step: u64) {
        let player = self.player();
        let count = self.below(4) + 1;
        let drawn: Vec<(JobName, Tick, Outcome)> =
            (0..count).map(|_| (self.job(), self.tick(step), self.outcome())).collect();
        let key = self.key.clone();
        let request = |store: usize, (job, tick, outcome): &(JobName, Tick, Outcome)| {
            let (key, term, job, outcome) = (key.clone(), player.terms[store], job.clone(), outcome.clone());
            Finish { key, nonce: player.nonce, term, job, tick: *tick, took: Duration::from_nanos(7), outcome }
        };
        let answers = self
            .ask(async |store, ledger| {
                let batch: Vec<Finish> = drawn.iter().map(|drawn| request(store, drawn)).collect();
                ledger.finish(&batch).await.into_iter().map(Result::unwrap).collect::<Vec<_>>()
            })
            .await;
        self.agreed(&format!("finish {drawn:?} as {}", player.candidate), answers);
    }

    async fn look(&mut self, runs_max: usize) -> Vec<JobReport> {
        let key = self.key.clone();
        let answers = self.ask(async |_, ledger| comparable(ledger.jobs(&key, runs_max).await.unwrap())).await;
        self.agreed(&format!("jobs with at most {runs_max} runs"), answers)
    }

    async fn forget(&mut self) {
        let (key, job) = (self.key.clone(), self.job());
        let answers = self.ask(async |_, ledger| ledger.forget(&key, &job).await.unwrap()).await;
        self.agreed(&format!("forget {job}"), answers);
    }

    async fn ask<T>(&self, act: impl AsyncFn(usize, &dyn JobLedger) -> T) -> Vec<T> {
        join_all(self.stores.iter().enumerate().map(|(number, store)| act(number, store.ledger().unwrap()))).await
    }

    fn open_job(&mut self) -> OpenJob {
        let schedule = if self.below(10) == 0 { "other" } else { "usual" };
        OpenJob { job: self.job(), schedule: schedule.into(), from: Tick::from_unix_s(self.below(50)) }
    }

    fn job(&mut self) -> JobName {
        JobName::new(format!("job {}", self.below(JOBS))).unwrap()
    }

    /// They grow, and meet earlier ones now and then.
    fn tick(&mut self, step: u64) -> Tick {
        Tick::from_unix_s(2 * step + self.below(12))
    }

    fn act(&mut self) -> Act {
        match self.below(8) {
            0..5 => Act::Run,
            5..7 => Act::RunAgain,
            _ => Act::Pass,
        }
    }

    fn outcome(&mut self) -> Outcome {
        match self.below(4) {
            0 => Outcome::Succeeded,
            1 => Outcome::Failed { why: format!("number {}", self.below(9)) },
            2 => Outcome::TimedOut,
            _ => Outcome::Cancelled,
        }
    }
}

/// Each store has its own clock and its own terms.
fn comparable(mut jobs: Vec<JobReport>) -> Vec<JobReport> {
    for run in jobs.iter_mut().flat_map(|job| &mut job.runs) {
        run.term = tenure_core::Term::new(1).unwrap();
        run.began_at_unix_ms = 0;
        if let Some(end) = &mut run.end {
            end.at_unix_ms = 0;
        }
    }
    jobs
}
