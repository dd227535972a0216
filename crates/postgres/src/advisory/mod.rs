//! Advisory locks.

mod campaign;
mod connector;
mod examine;
mod expiry;
mod held_locks;
mod holder_wait;
mod inbox;
mod label;
mod lease;
mod locks;
mod mailbox;
mod notice;
mod pubsub;
mod push;
mod session;
mod shared;
mod waiters;

use std::fmt;

use futures_util::stream::BoxStream;
use tenure_store::clock::Clock;
use tenure_store::{
    Campaign, CampaignReply, CandidateId, Capabilities, ElectionKey, ElectionName, Feature, Finding, Hint, Interest,
    Mailbox, Namespace, Observation, PubSub, Renew, RenewReply, Replies, Resign, Store, StoreError, Transition,
    async_trait,
};

use self::lease::AdvisoryInner;
use super::config::PostgresConfig;
use super::error::PostgresStoreError;

#[doc = include_str!("docs.md")]
pub struct AdvisoryStore {
    inner: AdvisoryInner,
}

impl AdvisoryStore {
    /// Opens a store on this server. Connects on demand, so an unreachable server is not an error here.
    #[must_use]
    pub fn open(config: &PostgresConfig) -> Self {
        Self { inner: AdvisoryInner::new(config, Clock::boottime()) }
    }
}

#[async_trait]
impl Store for AdvisoryStore {
    fn capabilities(&self) -> Capabilities {
        let statement = "Fast, but weaker than the lease table: the server frees a lock at once when it ends the \
             session (terminated, restarted, failed over), and the leader learns of it a moment later; candidates \
             that have seen the leader wait for that moment and others do not, so there may be two leaders. Every \
             role that can log in can take any lock.";
        let capabilities = Capabilities::new("postgres advisory", statement).with_pushes(true).with_sees_death(true);
        capabilities.with_lacks(&[
            Feature::Deadlines,
            Feature::Labels,
            Feature::Metadata,
            Feature::StandBys,
            Feature::Records,
            Feature::History,
            Feature::Handles,
        ])
    }

    async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        self.inner.campaign(batch).await
    }

    async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply> {
        self.inner.renew(batch).await
    }

    async fn resign(&self, batch: &[Resign]) -> Replies<()> {
        self.inner.resign(batch).await
    }

    async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
        self.inner.observe(batch).await
    }

    async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        self.inner.elections(namespace).await
    }

    async fn request_handover(&self, key: &ElectionKey, successor: Option<&CandidateId>) -> Result<bool, StoreError> {
        self.inner.request_handover(key, successor).await
    }

    /// Always empty: there is no table to keep a history in.
    async fn history(&self, _key: &ElectionKey, _limit: usize) -> Result<Vec<Transition>, StoreError> {
        Ok(Vec::new())
    }

    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        self.inner.watch(interest)
    }

    fn mailbox(&self) -> Option<&dyn Mailbox> {
        Some(self)
    }

    fn pubsub(&self) -> Option<&dyn PubSub> {
        Some(self)
    }

    async fn examine(&self) -> Vec<Finding> {
        examine::examine(self.inner.shared()).await
    }
}

impl fmt::Debug for AdvisoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AdvisoryStore").field(self.inner.shared().endpoint.place()).finish()
    }
}
