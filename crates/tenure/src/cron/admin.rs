//! Looking after jobs, for people.

use std::sync::Arc;

use tenure_core::JobName;
use tenure_core::jobs::{JobOrder, JobReport};

use crate::blocking::block_on;
use crate::client::Client;
use crate::election::Election;
use crate::error::Error;
use crate::store::{JobLedger, Store, StoreError, StoreErrorKind};

impl Election {
    /// The jobs an election has or had, in order of their names, each with its latest runs, the newest first. Cancel safe.
    ///
    /// # Errors
    /// When the store has no ledger, or it fails.
    pub async fn jobs(&self, max_runs: usize) -> Result<Vec<JobReport>, Error> {
        let key = self.key();
        self.client().check_ledger()?;
        let look = async move |store: Arc<dyn Store>| ledger(&*store)?.jobs(&key, max_runs).await;
        Ok(self.client().on_driver(look).await??)
    }

    /// Pauses a job, whoever leads: no tick of it fires until it is [resumed](Self::resume_job), and a run that goes on goes on.
    /// What comes due meanwhile is missed, and follows the job's policy then, as if nobody had led. It lasts over failovers.
    /// Returns whether the job is known.
    ///
    /// Dropping the future does not call it off.
    ///
    /// # Errors
    /// When a name breaks the rule for names, the store has no ledger, or it fails.
    pub async fn pause_job(&self, job: &str) -> Result<bool, Error> {
        self.steer_job(job, JobOrder::Pause).await
    }

    /// Resumes a job that was [paused](Self::pause_job). Whoever leads notices within ten seconds. Returns whether the job is
    /// known.
    ///
    /// Dropping the future does not call it off.
    ///
    /// # Errors
    /// As [`pause_job`](Self::pause_job).
    pub async fn resume_job(&self, job: &str) -> Result<bool, Error> {
        self.steer_job(job, JobOrder::Resume).await
    }

    /// Asks for a run of a job now, once, by whoever leads: within ten seconds, when a run that goes on has ended, or when the job
    /// is resumed or somebody leads. A tick that fires meanwhile counts as that run; asked again before, it is the same. Returns
    /// whether the job is known.
    ///
    /// Dropping the future does not call it off.
    ///
    /// # Errors
    /// As [`pause_job`](Self::pause_job).
    pub async fn run_job_now(&self, job: &str) -> Result<bool, Error> {
        self.steer_job(job, JobOrder::RunNow).await
    }

    /// [`pause_job`](Self::pause_job) for plain threads.
    ///
    /// # Errors
    /// As [`pause_job`](Self::pause_job).
    pub fn pause_job_blocking(&self, job: &str) -> Result<bool, Error> {
        block_on(self.pause_job(job))
    }

    /// [`resume_job`](Self::resume_job) for plain threads.
    ///
    /// # Errors
    /// As [`pause_job`](Self::pause_job).
    pub fn resume_job_blocking(&self, job: &str) -> Result<bool, Error> {
        block_on(self.resume_job(job))
    }

    /// [`run_job_now`](Self::run_job_now) for plain threads.
    ///
    /// # Errors
    /// As [`pause_job`](Self::pause_job).
    pub fn run_job_now_blocking(&self, job: &str) -> Result<bool, Error> {
        block_on(self.run_job_now(job))
    }

    async fn steer_job(&self, job: &str, order: JobOrder) -> Result<bool, Error> {
        let (key, job) = (self.key(), JobName::new(job)?);
        self.client().check_ledger()?;
        let steer = async move |store: Arc<dyn Store>| ledger(&*store)?.steer(&key, &job, order).await;
        Ok(self.client().on_driver(steer).await??)
    }

    /// Forgets a job, up to where its ticks are decided, and its runs. Returns whether it was known.
    ///
    /// If somebody leads who has the job, it begins anew at the present. That helps a job whose ticks were decided far into the
    /// future by a clock that was wrong.
    ///
    /// Dropping the future does not call it off.
    ///
    /// # Errors
    /// When a name breaks the rule for names, the store has no ledger, or it fails.
    pub async fn forget_job(&self, job: &str) -> Result<bool, Error> {
        let (key, job) = (self.key(), JobName::new(job)?);
        self.client().check_ledger()?;
        let forget = async move |store: Arc<dyn Store>| ledger(&*store)?.forget(&key, &job).await;
        Ok(self.client().on_driver(forget).await??)
    }

    /// [`jobs`](Self::jobs) for plain threads.
    ///
    /// # Errors
    /// As [`jobs`](Self::jobs).
    pub fn jobs_blocking(&self, max_runs: usize) -> Result<Vec<JobReport>, Error> {
        block_on(self.jobs(max_runs))
    }

    /// [`forget_job`](Self::forget_job) for plain threads.
    ///
    /// # Errors
    /// As [`forget_job`](Self::forget_job).
    pub fn forget_job_blocking(&self, job: &str) -> Result<bool, Error> {
        block_on(self.forget_job(job))
    }
}

impl Client {
    /// Whether the store keeps jobs at all. Asks nobody.
    ///
    /// # Errors
    /// When the store has no ledger; the error says which stores have one.
    pub fn check_ledger(&self) -> Result<(), Error> {
        Ok(ledger(self.store()).map(drop)?)
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
