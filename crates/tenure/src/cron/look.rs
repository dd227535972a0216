//! Looking after jobs, for people.

use std::sync::Arc;

use tenure_core::JobName;
use tenure_core::cron::JobReport;

use crate::blocking::block_on;
use crate::error::Error;
use crate::store::{JobLedger, Store, StoreError, StoreErrorKind};
use crate::tenure::Tenure;

impl Tenure {
    /// The jobs an election has or had, in order of their names, each with its latest runs, the newest first. Cancel safe.
    ///
    /// # Errors
    /// When the name breaks the rule for names, the store has no ledger, or it fails.
    pub async fn jobs(&self, name: &str, runs_max: usize) -> Result<Vec<JobReport>, Error> {
        let key = self.key(name)?;
        self.check_ledger()?;
        let look = async move |store: Arc<dyn Store>| ledger(&*store)?.jobs(&key, runs_max).await;
        Ok(self.on_driver(look).await??)
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
    pub async fn forget_job(&self, name: &str, job: &str) -> Result<bool, Error> {
        let (key, job) = (self.key(name)?, JobName::new(job)?);
        self.check_ledger()?;
        let forget = async move |store: Arc<dyn Store>| ledger(&*store)?.forget(&key, &job).await;
        Ok(self.on_driver(forget).await??)
    }

    /// [`jobs`](Self::jobs) for plain threads.
    ///
    /// # Errors
    /// As [`jobs`](Self::jobs).
    pub fn jobs_blocking(&self, name: &str, runs_max: usize) -> Result<Vec<JobReport>, Error> {
        block_on(self.jobs(name, runs_max))
    }

    /// [`forget_job`](Self::forget_job) for plain threads.
    ///
    /// # Errors
    /// As [`forget_job`](Self::forget_job).
    pub fn forget_job_blocking(&self, name: &str, job: &str) -> Result<bool, Error> {
        block_on(self.forget_job(name, job))
    }

    /// # Errors
    /// When the store has no ledger.
    pub(crate) fn check_ledger(&self) -> Result<(), Error> {
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
