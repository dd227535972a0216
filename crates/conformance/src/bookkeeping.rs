//! Ledger requests of leaders in tests.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{JobName, Term};
use tenure_store::JobLedger;
use tenure_store::ledger::{
    Act, Claim, Claimed, Finish, JobReport, MAX_RUNS, OpenJob, OpenJobs, Opened, OpenedJob, RunOutcome, Tick,
};

use super::Fixture;
use super::player::{Player, only};

/// The job of those who do not care.
pub(super) const JOB: &str = "backup";

/// When it is due.
pub(super) const SCHEDULE: &str = "0 3 * * *";

/// Where its mark is in the beginning.
pub(super) const BEGINNING: u64 = 100;

/// How long runs take.
pub(super) const TOOK: Duration = Duration::new(3, 7);

/// Somebody who leads for long, and has opened the usual job.
pub(super) async fn leader(fixture: &dyn Fixture) -> (Player, Term) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    one.opens(term, BEGINNING).await;
    (one, term)
}

impl Player {
    pub(super) fn ledger(&self) -> &dyn JobLedger {
        self.store.ledger().expect("a store whose test program says that it writes down jobs has a ledger")
    }

    pub(super) fn as_opening(&self, term: Term, jobs: Vec<OpenJob>) -> OpenJobs {
        OpenJobs { key: self.key.clone(), nonce: self.nonce, term, jobs }
    }

    pub(super) async fn tries_to_open(&self, request: &OpenJobs) -> Opened {
        self.ledger().open(request).await.expect("an answer")
    }

    /// Opens jobs as a leader.
    pub(super) async fn opens_all(&self, term: Term, jobs: Vec<OpenJob>) -> Vec<OpenedJob> {
        match self.tries_to_open(&self.as_opening(term, jobs)).await {
            Opened::Jobs(opened) => opened,
            refusal @ (Opened::TooMany | Opened::NotHolder) => panic!("{:?} leads: {refusal:?}", self.candidate),
        }
    }

    /// Opens the usual job when it is this late.
    pub(super) async fn opens(&self, term: Term, from: u64) -> OpenedJob {
        self.opens_all(term, vec![job(JOB, SCHEDULE, from)]).await.remove(0)
    }

    /// To run the usual job.
    pub(super) fn as_claim(&self, term: Term, second: u64) -> Claim {
        Claim {
            key: self.key.clone(),
            nonce: self.nonce,
            term,
            candidate: self.candidate.clone(),
            job: job_name(JOB),
            tick: tick(second),
            act: Act::Run,
            missed: 0,
        }
    }

    pub(super) async fn claims(&self, claim: Claim) -> Claimed {
        only(self.ledger().claim(&[claim]).await)
    }

    pub(super) async fn claims_to(&self, act: Act, term: Term, second: u64) -> Claimed {
        self.claims(Claim { act, ..self.as_claim(term, second) }).await
    }

    /// Claims a tick, which must be granted.
    pub(super) async fn runs(&self, term: Term, second: u64) {
        assert_eq!(self.claims_to(Act::Run, term, second).await, Claimed::Granted, "second {second}");
    }

    /// Passes a tick over. Where every request arrives twice, the second one finds it decided.
    pub(super) async fn passes(&self, term: Term, second: u64, missed: u64) {
        let claimed = self.claims(Claim { act: Act::Pass, missed, ..self.as_claim(term, second) }).await;
        assert!(claimed == Claimed::Granted || claimed == decided(second), "second {second}: {claimed:?}");
    }

    /// That the usual job ended.
    pub(super) fn as_end(&self, term: Term, second: u64, outcome: RunOutcome) -> Finish {
        let (key, nonce, job) = (self.key.clone(), self.nonce, job_name(JOB));
        Finish { key, nonce, term, job, tick: tick(second), took: TOOK, retries: 0, outcome }
    }

    pub(super) async fn tells(&self, end: Finish) -> bool {
        only(self.ledger().finish(&[end]).await)
    }

    /// Tells that the usual job ended well, and must be heard.
    pub(super) async fn ends(&self, term: Term, second: u64) {
        assert!(self.tells(self.as_end(term, second, RunOutcome::Succeeded)).await, "second {second}");
    }

    pub(super) async fn reads(&self) -> Vec<JobReport> {
        self.ledger().jobs(&self.key, MAX_RUNS).await.expect("a list")
    }

    /// What is written down of the usual job.
    pub(super) async fn reads_one(&self) -> JobReport {
        self.reads().await.into_iter().find(|report| report.job.as_str() == JOB).expect("the job is known")
    }

    pub(super) async fn forgets(&self, name: &str) -> bool {
        self.ledger().forget(&self.key, &job_name(name)).await.expect("an answer")
    }

    /// What the store's wall clock shows: it says by how much the last tick of all is too early.
    pub(super) async fn sees_unix_ms(&self, term: Term) -> u64 {
        match self.claims(Claim { tick: Tick::MAX, ..self.as_claim(term, 0) }).await {
            Claimed::Early { by } => {
                Tick::MAX.unix_ms() - u64::try_from(by.as_millis()).expect("less than all milliseconds")
            }
            claimed => panic!("the last tick of all should be too early: {claimed:?}"),
        }
    }
}

pub(super) fn job(name: &str, schedule: &str, from: u64) -> OpenJob {
    OpenJob { job: job_name(name), schedule: Arc::from(schedule), from: tick(from) }
}

pub(super) fn job_name(name: &str) -> JobName {
    JobName::new(name).expect("a valid name of a job")
}

/// Long past on every clock.
pub(super) fn tick(second: u64) -> Tick {
    Tick::from_unix_s(second)
}

pub(super) fn decided(mark: u64) -> Claimed {
    Claimed::Decided { mark: tick(mark) }
}

/// The ticks of the runs that are told, the newest first.
pub(super) fn ticks(report: &JobReport) -> Vec<u64> {
    report.runs.iter().map(|run| run.tick.unix_s()).collect()
}
