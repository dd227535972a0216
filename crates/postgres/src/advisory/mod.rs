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

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tenure_core::{CampaignReply, CandidateId, ElectionName, Namespace, RenewReply};
use tenure_store::clock::Clock;
use tenure_store::{
    Campaign, Capabilities, ElectionKey, Feature, Finding, Hint, Interest, Mailbox, Observation, PubSub, Renew,
    Replies, Resign, Store, StoreError, Transition,
};

use self::lease::AdvisoryInner;
use super::config::PostgresConfig;
use super::error::PostgresStoreError;

#[doc = include_str!("docs.md")]
pub struct AdvisoryStore {
    inner: AdvisoryInner,
}

impl AdvisoryStore {
    /// Uses this server. The first connection is made when it is needed, so a server that is away is no error.
    #[must_use]
    pub fn open(config: &PostgresConfig) -> Self {
        Self { inner: AdvisoryInner::new(config, Clock::boottime()) }
    }
}

impl Store for AdvisoryStore {
    fn capabilities(&self) -> Capabilities {
        let statement = "Fast, but weaker than the lease table: the server frees a lock at once when it ends the session \
                         (terminated, restarted, failed over), and the leader learns of it a moment later, which those who \
                         have seen it wait for and others do not, so there may be two; and whoever can log in can take any lock.";
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

    fn campaign<'a>(&'a self, batch: &'a [Campaign]) -> BoxFuture<'a, Replies<CampaignReply>> {
        Box::pin(self.inner.campaign(batch))
    }

    fn renew<'a>(&'a self, batch: &'a [Renew]) -> BoxFuture<'a, Replies<RenewReply>> {
        Box::pin(self.inner.renew(batch))
    }

    fn resign<'a>(&'a self, batch: &'a [Resign]) -> BoxFuture<'a, Replies<()>> {
        Box::pin(self.inner.resign(batch))
    }

    fn observe<'a>(&'a self, batch: &'a [ElectionKey]) -> BoxFuture<'a, Replies<Observation>> {
        Box::pin(self.inner.observe(batch))
    }

    fn elections<'a>(&'a self, namespace: &'a Namespace) -> BoxFuture<'a, Result<Vec<ElectionName>, StoreError>> {
        Box::pin(self.inner.elections(namespace))
    }

    fn request_handover<'a>(
        &'a self,
        key: &'a ElectionKey,
        successor: Option<&'a CandidateId>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(self.inner.request_handover(key, successor))
    }

    /// Always empty: there is no table to keep a history in.
    fn history<'a>(
        &'a self,
        _key: &'a ElectionKey,
        _limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Transition>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
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

    fn examine(&self) -> BoxFuture<'_, Vec<Finding>> {
        Box::pin(examine::examine(self.inner.shared()))
    }
}

impl fmt::Debug for AdvisoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AdvisoryStore").field(self.inner.shared().endpoint.place()).finish()
    }
}
