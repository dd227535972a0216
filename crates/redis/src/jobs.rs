//! The ledger: jobs and their ticks, as stored on the servers.

use tenure_store::ledger::{Claim, Claimed, Finish, JobLedger, JobOrder, JobReport, OpenJobs, Opened, RunOutcome};
use tenure_store::{ElectionKey, JobName, Replies, StoreError, async_trait};

use super::RedisStore;
use super::error::RedisStoreError;
use super::jobs_verbs::{ClaimVerb, FinishVerb, ForgetJobVerb, ListJobsVerb, OpenJobsVerb, SteerJobVerb};
use super::lease::{RedisInner, VerbReply};
use super::sentinel::{Opinion, WHILE_LEADING};

#[async_trait]
impl JobLedger for RedisStore {
    async fn open(&self, request: &OpenJobs) -> Result<Opened, StoreError> {
        self.inner.open_jobs(request).await
    }

    async fn claim(&self, batch: &[Claim]) -> Replies<Claimed> {
        self.inner.claim(batch).await
    }

    async fn finish(&self, batch: &[Finish]) -> Replies<bool> {
        self.inner.finish(batch).await
    }

    async fn jobs(&self, key: &ElectionKey, max_runs: usize) -> Result<Vec<JobReport>, StoreError> {
        self.inner.ask_one(&ListJobsVerb { max_runs }, key).await
    }

    async fn steer(&self, key: &ElectionKey, job: &JobName, order: JobOrder) -> Result<bool, StoreError> {
        self.inner.ask_one(&SteerJobVerb { job, order }, key).await
    }

    async fn forget(&self, key: &ElectionKey, job: &JobName) -> Result<bool, StoreError> {
        self.inner.ask_one(&ForgetJobVerb { job }, key).await
    }
}

impl RedisInner {
    async fn open_jobs(&self, request: &OpenJobs) -> Result<Opened, StoreError> {
        let verb = OpenJobsVerb { is_confirmed_by_replicas: self.wait().is_some() };
        let told = self.ask_in_turn(&verb, std::slice::from_ref(request), Vec::new()).await;
        let is_written = |opened: &Opened| matches!(opened, Opened::Jobs(_));
        self.trust(told, is_written).await.pop().unwrap_or_else(|| Err(self.tell(RedisStoreError::Silent)))
    }

    async fn claim(&self, batch: &[Claim]) -> Replies<Claimed> {
        let verb = ClaimVerb { is_confirmed_by_replicas: self.wait().is_some() };
        let told = self.ask_in_turn(&verb, batch, Vec::new()).await;
        self.trust(told, |claimed| *claimed == Claimed::Granted).await
    }

    /// The next leader must find a tick that is given back, so it counts under the same conditions as a claim.
    /// What is forgotten of other ends shows as interrupted.
    async fn finish(&self, batch: &[Finish]) -> Replies<bool> {
        let gives_back = batch.iter().any(|finish| finish.outcome == RunOutcome::NotBegun);
        let wait = self.wait().filter(|_| gives_back);
        let verb = FinishVerb { is_confirmed_by_replicas: wait.is_some() };
        let told = self.ask(&verb, batch, Vec::new(), wait).await;
        if gives_back { self.trust(told.replies, |is_written| *is_written).await } else { told.into_values() }
    }

    /// A mark counts under the same conditions as a term: what a server wrote that is the primary no more, or what too few
    /// replicas have, may be decided once more elsewhere. It is no harm to repeat it.
    async fn trust<T>(
        &self,
        replies: Vec<Result<VerbReply<T>, StoreError>>,
        is_written: impl Fn(&T) -> bool,
    ) -> Replies<T> {
        let raw_url = replies.iter().flatten().find(|reply| is_written(&reply.value));
        let opinion = match raw_url {
            Some(reply) => self.opinion_of(Some(reply), WHILE_LEADING).await,
            None => Opinion::Confirmed,
        };
        let judge = |reply: VerbReply<T>| match self.objection(&reply, opinion, "decision") {
            Some(why) if is_written(&reply.value) => Err(self.tell(RedisStoreError::Unconfirmed(why))),
            Some(_) | None => Ok(reply.value),
        };
        replies.into_iter().map(|reply| reply.and_then(judge)).collect()
    }
}
