//! The ledger of the reference store.

use futures_util::future::{BoxFuture, ready};
use tenure_core::JobName;

use super::MemoryStore;
use crate::ledger::{Claim, Claimed, Finish, JobLedger, JobOrder, JobReport, OpenJobs, Opened};
use crate::{ElectionKey, Replies, StoreError};

impl JobLedger for MemoryStore {
    fn open<'a>(&'a self, request: &'a OpenJobs) -> BoxFuture<'a, Result<Opened, StoreError>> {
        let opened = self.if_held(&request.key, request.nonce, request.term, |kept| {
            kept.ledger.open(&request.jobs, request.term, self.unix_ms())
        });
        Box::pin(ready(Ok(opened.unwrap_or(Opened::NotHolder))))
    }

    fn claim<'a>(&'a self, batch: &'a [Claim]) -> BoxFuture<'a, Replies<Claimed>> {
        let step = |claim: &Claim| {
            let claimed =
                self.if_held(&claim.key, claim.nonce, claim.term, |kept| kept.ledger.claim(claim, self.unix_ms()));
            Ok(claimed.unwrap_or(Claimed::NotHolder))
        };
        Box::pin(ready(batch.iter().map(step).collect()))
    }

    fn finish<'a>(&'a self, batch: &'a [Finish]) -> BoxFuture<'a, Replies<bool>> {
        let step = |finish: &Finish| Ok(self.with_kept(&finish.key, |kept| kept.ledger.finish(finish, self.unix_ms())));
        Box::pin(ready(batch.iter().map(step).collect()))
    }

    fn jobs<'a>(&'a self, key: &'a ElectionKey, max_runs: usize) -> BoxFuture<'a, Result<Vec<JobReport>, StoreError>> {
        Box::pin(ready(Ok(self.with_kept(key, |kept| kept.ledger.report(max_runs)))))
    }

    fn steer<'a>(
        &'a self,
        key: &'a ElectionKey,
        job: &'a JobName,
        order: JobOrder,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let steered = self.with_kept(key, |kept| kept.ledger.steer(job, order, self.unix_ms()));
        Box::pin(ready(Ok(steered)))
    }

    fn forget<'a>(&'a self, key: &'a ElectionKey, job: &'a JobName) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(Ok(self.with_kept(key, |kept| kept.ledger.forget(job)))))
    }
}
