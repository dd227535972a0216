//! Faults of ledger requests.

use std::sync::Arc;

use tenure_core::JobName;

use super::{FaultableReply, FaultyStore, Operation};
use crate::ledger::{Claim, Claimed, Finish, JobOrder, JobReport, OpenJobs, Opened};
use crate::{ElectionKey, JobLedger, Replies, Store, StoreError, StoreErrorKind, async_trait};

#[async_trait]
impl JobLedger for FaultyStore {
    async fn open(&self, request: &OpenJobs) -> Result<Opened, StoreError> {
        let request = request.clone();
        self.call(Operation::OpenJobs, request.jobs.len(), move |inner| {
            let request = request.clone();
            async move { ledger(&*inner)?.open(&request).await }
        })
        .await
    }

    async fn claim(&self, batch: &[Claim]) -> Replies<Claimed> {
        let batch: Arc<[Claim]> = batch.into();
        self.call(Operation::Claim, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            async move {
                match ledger(&*inner) {
                    Ok(ledger) => ledger.claim(&batch).await,
                    Err(error) => FaultableReply::failed(&error, batch.len()),
                }
            }
        })
        .await
    }

    async fn finish(&self, batch: &[Finish]) -> Replies<bool> {
        let batch: Arc<[Finish]> = batch.into();
        self.call(Operation::Finish, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            async move {
                match ledger(&*inner) {
                    Ok(ledger) => ledger.finish(&batch).await,
                    Err(error) => FaultableReply::failed(&error, batch.len()),
                }
            }
        })
        .await
    }

    async fn jobs(&self, key: &ElectionKey, max_runs: usize) -> Result<Vec<JobReport>, StoreError> {
        let key = key.clone();
        self.call(Operation::ListJobs, 1, move |inner| {
            let key = key.clone();
            async move { ledger(&*inner)?.jobs(&key, max_runs).await }
        })
        .await
    }

    async fn steer(&self, key: &ElectionKey, job: &JobName, order: JobOrder) -> Result<bool, StoreError> {
        let (key, job) = (key.clone(), job.clone());
        self.call(Operation::SteerJob, 1, move |inner| {
            let (key, job) = (key.clone(), job.clone());
            async move { ledger(&*inner)?.steer(&key, &job, order).await }
        })
        .await
    }

    async fn forget(&self, key: &ElectionKey, job: &JobName) -> Result<bool, StoreError> {
        let (key, job) = (key.clone(), job.clone());
        self.call(Operation::ForgetJob, 1, move |inner| {
            let (key, job) = (key.clone(), job.clone());
            async move { ledger(&*inner)?.forget(&key, &job).await }
        })
        .await
    }
}

/// Whether there is one is asked before anything is sent, so the error is only for those who did not ask.
fn ledger(inner: &dyn Store) -> Result<&dyn JobLedger, StoreError> {
    inner.ledger().ok_or_else(|| StoreError::refused(StoreErrorKind::Unsupported, "The store behind has no ledger."))
}
