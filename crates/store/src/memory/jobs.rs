//! The ledger of the reference store.

use tenure_core::JobName;

use super::MemoryStore;
use crate::ledger::{Claim, Claimed, Finish, JobLedger, JobOrder, JobReport, OpenJobs, Opened};
use crate::{ElectionKey, Replies, StoreError, async_trait};

#[async_trait]
impl JobLedger for MemoryStore {
    async fn open(&self, request: &OpenJobs) -> Result<Opened, StoreError> {
        let opened = self.if_held(&request.key, request.nonce, request.term, |kept| {
            kept.ledger.open(&request.jobs, request.term, self.unix_ms())
        });
        Ok(opened.unwrap_or(Opened::NotHolder))
    }

    async fn claim(&self, batch: &[Claim]) -> Replies<Claimed> {
        let step = |claim: &Claim| {
            let claimed =
                self.if_held(&claim.key, claim.nonce, claim.term, |kept| kept.ledger.claim(claim, self.unix_ms()));
            Ok(claimed.unwrap_or(Claimed::NotHolder))
        };
        batch.iter().map(step).collect()
    }

    async fn finish(&self, batch: &[Finish]) -> Replies<bool> {
        let step = |finish: &Finish| Ok(self.with_kept(&finish.key, |kept| kept.ledger.finish(finish, self.unix_ms())));
        batch.iter().map(step).collect()
    }

    async fn jobs(&self, key: &ElectionKey, max_runs: usize) -> Result<Vec<JobReport>, StoreError> {
        Ok(self.with_kept(key, |kept| kept.ledger.report(max_runs)))
    }

    async fn steer(&self, key: &ElectionKey, job: &JobName, order: JobOrder) -> Result<bool, StoreError> {
        let steered = self.with_kept(key, |kept| kept.ledger.steer(job, order, self.unix_ms()));
        Ok(steered)
    }

    async fn forget(&self, key: &ElectionKey, job: &JobName) -> Result<bool, StoreError> {
        Ok(self.with_kept(key, |kept| kept.ledger.forget(job)))
    }
}
