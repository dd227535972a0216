//! The ledger: jobs and their ticks, as the servers keep them.

use futures_util::future::BoxFuture;
use tenure_core::JobName;
use tenure_store::ledger::{Claim, Claimed, Finish, JobLedger, JobOrder, JobReport, Open, Opened, Outcome};
use tenure_store::{ElectionKey, Replies, StoreError};

use super::RedisStore;
use super::desk::{Desk, Reply};
use super::error::Fault;
use super::ledger_verbs::{Claiming, Finishing, ForgettingJob, ListingJobs, Opening, Steering};
use super::sentinel::{Opinion, WHILE_LEADING};

impl JobLedger for RedisStore {
    fn open<'a>(&'a self, request: &'a Open) -> BoxFuture<'a, Result<Opened, StoreError>> {
        Box::pin(self.desk.open_jobs(request))
    }

    fn claim<'a>(&'a self, batch: &'a [Claim]) -> BoxFuture<'a, Replies<Claimed>> {
        Box::pin(self.desk.claim(batch))
    }

    fn finish<'a>(&'a self, batch: &'a [Finish]) -> BoxFuture<'a, Replies<bool>> {
        Box::pin(self.desk.finish(batch))
    }

    fn jobs<'a>(&'a self, key: &'a ElectionKey, runs_max: usize) -> BoxFuture<'a, Result<Vec<JobReport>, StoreError>> {
        Box::pin(async move { self.desk.ask_one(&ListingJobs { runs_max }, key).await })
    }

    fn steer<'a>(
        &'a self,
        key: &'a ElectionKey,
        job: &'a JobName,
        order: JobOrder,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { self.desk.ask_one(&Steering { job, order }, key).await })
    }

    fn forget<'a>(&'a self, key: &'a ElectionKey, job: &'a JobName) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { self.desk.ask_one(&ForgettingJob { job }, key).await })
    }
}

impl Desk {
    async fn open_jobs(&self, request: &Open) -> Result<Opened, StoreError> {
        let verb = Opening { is_confirmed_by_replicas: self.wait().is_some() };
        let told = self.ask_in_turn(&verb, std::slice::from_ref(request), Vec::new()).await;
        let is_written = |opened: &Opened| matches!(opened, Opened::Jobs(_));
        self.trust(told, is_written).await.pop().unwrap_or_else(|| Err(self.tell(Fault::Silent)))
    }

    async fn claim(&self, batch: &[Claim]) -> Replies<Claimed> {
        let verb = Claiming { is_confirmed_by_replicas: self.wait().is_some() };
        let told = self.ask_in_turn(&verb, batch, Vec::new()).await;
        self.trust(told, |claimed| *claimed == Claimed::Granted).await
    }

    /// A tick that is given back has to be there for the next leader, so that counts under the same conditions as a claim.
    /// What is forgotten of other ends shows as interrupted.
    async fn finish(&self, batch: &[Finish]) -> Replies<bool> {
        let gives_back = batch.iter().any(|finish| finish.outcome == Outcome::NotBegun);
        let wait = self.wait().filter(|_| gives_back);
        let verb = Finishing { is_confirmed_by_replicas: wait.is_some() };
        let told = self.ask(&verb, batch, Vec::new(), wait).await;
        if gives_back { self.trust(told.replies, |is_written| *is_written).await } else { told.into_values() }
    }

    /// A mark counts under the same conditions as a term: what a server wrote that is the primary no more, or what too few
    /// replicas have, may be decided once more elsewhere. It is no harm to repeat it.
    async fn trust<T>(
        &self,
        replies: Vec<Result<Reply<T>, StoreError>>,
        is_written: impl Fn(&T) -> bool,
    ) -> Replies<T> {
        let written = replies.iter().flatten().find(|reply| is_written(&reply.value));
        let opinion = match written {
            Some(reply) => self.opinion_of(Some(reply), WHILE_LEADING).await,
            None => Opinion::Confirmed,
        };
        let judge = |reply: Reply<T>| match self.objection(&reply, opinion, "decision") {
            Some(why) if is_written(&reply.value) => Err(self.tell(Fault::Unconfirmed(why))),
            Some(_) | None => Ok(reply.value),
        };
        replies.into_iter().map(|reply| reply.and_then(judge)).collect()
    }
}
