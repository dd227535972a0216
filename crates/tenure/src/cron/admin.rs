//! Administration of jobs.

use std::sync::Arc;

use tenure_core::JobName;
use tenure_core::jobs::{JobOrder, JobReport};

use crate::client::Client;
use crate::election::Election;
use crate::error::Error;
use crate::store::{JobLedger, Store, StoreError, StoreErrorKind};

impl Election {
    /// Returns the current and former jobs of the election by name, each with its latest runs, newest first. Cancel safe.
    ///
    /// # Errors
    /// When the store has no ledger, or it fails.
    pub async fn jobs(&self, max_runs: usize) -> Result<Vec<JobReport>, Error> {
        let key = self.key();
        self.client().check_ledger()?;
        let look = async move |store: Arc<dyn Store>| ledger(&*store)?.jobs(&key, max_runs).await;
        Ok(self.client().on_driver(look).await??)
    }

    /// Pauses a job across failovers: no tick of it fires until it is [resumed](Self::resume_job). Returns whether the job is
    /// known.
    ///
    /// A current run continues. Ticks that come due meanwhile are missed, and then follow the job's policy, as if nobody had led.
    ///
    /// Dropping the future does not cancel the request.
    ///
    /// # Errors
    /// When a name breaks the rule for names, the store has no ledger, or it fails.
    pub async fn pause_job(&self, job: &str) -> Result<bool, Error> {
        self.steer_job(job, JobOrder::Pause).await
    }

    /// Resumes a [paused](Self::pause_job) job. Returns whether the job is known.
    ///
    /// The leader notices within ten seconds. Dropping the future does not cancel the request.
    ///
    /// # Errors
    /// As [`pause_job`](Self::pause_job).
    pub async fn resume_job(&self, job: &str) -> Result<bool, Error> {
        self.steer_job(job, JobOrder::Resume).await
    }

    /// Asks the leader for one run of a job now. Returns whether the job is known.
    ///
    /// It runs within ten seconds, or after the current run has ended, the job is resumed, or there is a leader. A tick that fires
    /// meanwhile counts as that run; further requests before it change nothing.
    ///
    /// Dropping the future does not cancel the request.
    ///
    /// # Errors
    /// As [`pause_job`](Self::pause_job).
    pub async fn run_job_now(&self, job: &str) -> Result<bool, Error> {
        self.steer_job(job, JobOrder::RunNow).await
    }

    async fn steer_job(&self, job: &str, order: JobOrder) -> Result<bool, Error> {
        let (key, job) = (self.key(), JobName::new(job)?);
        self.client().check_ledger()?;
        let steer = async move |store: Arc<dyn Store>| ledger(&*store)?.steer(&key, &job, order).await;
        Ok(self.client().on_driver(steer).await??)
    }

    /// Forgets a job: its runs, and the mark up to which its ticks are decided. Returns whether the job was known.
    ///
    /// If the leader has the job, it begins anew at the present. That helps a job whose ticks were decided far into the
    /// future by a wrong clock.
    ///
    /// Dropping the future does not cancel the request.
    ///
    /// # Errors
    /// When a name breaks the rule for names, the store has no ledger, or it fails.
    pub async fn forget_job(&self, job: &str) -> Result<bool, Error> {
        let (key, job) = (self.key(), JobName::new(job)?);
        self.client().check_ledger()?;
        let forget = async move |store: Arc<dyn Store>| ledger(&*store)?.forget(&key, &job).await;
        Ok(self.client().on_driver(forget).await??)
    }
}

impl Client {
    /// # Errors
    /// When the store has no ledger; the error names stores that have one.
    pub(crate) fn check_ledger(&self) -> Result<(), Error> {
        Ok(ledger(self.dyn_store()).map(drop)?)
    }
}

fn ledger(store: &dyn Store) -> Result<&dyn JobLedger, StoreError> {
    store.ledger().ok_or_else(|| {
        let name = store.capabilities().name;
        let message = format!(
            "the {name} store keeps no jobs; use one that does: `sqlite:PATH`, `postgres://…`, `redis://…` or `memory:`"
        );
        StoreError::refused(StoreErrorKind::Unsupported, message)
    })
}
