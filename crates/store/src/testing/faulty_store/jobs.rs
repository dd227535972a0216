//! What is asked of a ledger goes astray like everything else.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tenure_core::JobName;

use super::{FaultableReply, FaultyStore, Operation};
use crate::ledger::{Claim, Claimed, Finish, JobOrder, JobReport, OpenJobs, Opened};
use crate::{ElectionKey, JobLedger, Replies, Store, StoreError, StoreErrorKind};

impl JobLedger for FaultyStore {
    fn open<'a>(&'a self, request: &'a OpenJobs) -> BoxFuture<'a, Result<Opened, StoreError>> {
        let request = request.clone();
        self.call(Operation::OpenJobs, request.jobs.len(), move |inner| {
            let request = request.clone();
            Box::pin(async move { ledger(&*inner)?.open(&request).await })
        })
    }

    fn claim<'a>(&'a self, batch: &'a [Claim]) -> BoxFuture<'a, Replies<Claimed>> {
        let batch: Arc<[Claim]> = batch.into();
        self.call(Operation::Claim, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            Box::pin(async move {
                match ledger(&*inner) {
                    Ok(ledger) => ledger.claim(&batch).await,
                    Err(error) => FaultableReply::failed(&error, batch.len()),
                }
            })
        })
    }

    fn finish<'a>(&'a self, batch: &'a [Finish]) -> BoxFuture<'a, Replies<bool>> {
        let batch: Arc<[Finish]> = batch.into();
        self.call(Operation::Finish, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            Box::pin(async move {
                match ledger(&*inner) {
                    Ok(ledger) => ledger.finish(&batch).await,
                    Err(error) => FaultableReply::failed(&error, batch.len()),
                }
            })
        })
    }

    fn jobs<'a>(&'a self, key: &'a ElectionKey, max_runs: usize) -> BoxFuture<'a, Result<Vec<JobReport>, StoreError>> {
        let key = key.clone();
        self.call(Operation::ListJobs, 1, move |inner| {
            let key = key.clone();
            Box::pin(async move { ledger(&*inner)?.jobs(&key, max_runs).await })
        })
    }

    fn steer<'a>(
        &'a self,
        key: &'a ElectionKey,
        job: &'a JobName,
        order: JobOrder,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (key, job) = (key.clone(), job.clone());
        self.call(Operation::SteerJob, 1, move |inner| {
            let (key, job) = (key.clone(), job.clone());
            Box::pin(async move { ledger(&*inner)?.steer(&key, &job, order).await })
        })
    }

    fn forget<'a>(&'a self, key: &'a ElectionKey, job: &'a JobName) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (key, job) = (key.clone(), job.clone());
        self.call(Operation::ForgetJob, 1, move |inner| {
            let (key, job) = (key.clone(), job.clone());
            Box::pin(async move { ledger(&*inner)?.forget(&key, &job).await })
        })
    }
}

/// Whether there is one is asked before anything is sent, so the error is only for those who did not ask.
fn ledger(inner: &dyn Store) -> Result<&dyn JobLedger, StoreError> {
    inner.ledger().ok_or_else(|| StoreError::refused(StoreErrorKind::Unsupported, "The store behind has no ledger."))
}
