#![doc = include_str!("docs.md")]

#[macro_use]
mod log;

mod address;
mod call;
mod cluster;
mod config;
mod connector;
mod deployment;
mod error;
mod examine;
mod facts;
pub mod fencing;
mod index;
mod jobs;
mod jobs_reply;
mod jobs_verbs;
mod keys;
mod lease;
mod lease_reply;
mod lease_verbs;
mod listing;
mod mailbox;
mod mailbox_reply;
mod mailbox_verbs;
mod parse;
mod pubsub;
mod push;
mod raise_terms;
mod reminders;
mod script;
mod sentinel;
mod tls;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use tenure_store::clock::Clock;
use tenure_store::remote::first_examination::FirstExamination;
use tenure_store::{
    Campaign, CampaignReply, CandidateId, Capabilities, ElectionKey, ElectionName, Finding, Forgetting, Hint, Interest,
    JobLedger, Mailbox, Namespace, Observation, PubSub, Renew, RenewReply, Replies, Resign, Store, StoreError, Term,
    Transition, async_trait, check_raise,
};

pub use self::config::RedisConfig;
use self::deployment::Deployment;
use self::lease::RedisInner;

/// Elections in Redis or Valkey.
///
/// ```no_run
/// use tenure::Client;
///
/// let client = Client::open("redis://127.0.0.1:6379/")?;
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct RedisStore {
    inner: Arc<RedisInner>,
    examination: FirstExamination,
}

impl RedisStore {
    /// Opens a store on these servers. Connects on demand, so an unreachable server is not an error here.
    ///
    /// # Errors
    /// When the configuration contradicts itself.
    pub fn open(config: &RedisConfig) -> Result<Self, StoreError> {
        Self::start(config, Clock::boottime())
    }

    /// Like [`RedisStore::open`], with another clock to compare the server's clock with.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    #[cfg(feature = "testing")]
    pub fn open_with_clock(config: &RedisConfig, clock: Clock) -> Result<Self, StoreError> {
        Self::start(config, clock)
    }

    /// Like [`RedisStore::open`] with [`RedisConfig::from_client`] and default options.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    pub fn from_client(client: redis::Client) -> Result<Self, StoreError> {
        Self::open(&RedisConfig::from_client(client))
    }

    fn start(config: &RedisConfig, clock: Clock) -> Result<Self, StoreError> {
        Ok(Self { inner: Arc::new(RedisInner::new(config, clock)?), examination: FirstExamination::default() })
    }
}

#[async_trait]
impl Store for RedisStore {
    fn capabilities(&self) -> Capabilities {
        let (name, statement) = match self.inner.deployment() {
            Deployment::Standalone { .. } => (
                "redis",
                "One leader as long as the server keeps its confirmed writes and its wall clock does not jump; \
                 eviction, FLUSHALL, a restart without appendfsync always, or a clock set forward can lead to two.",
            ),
            Deployment::Sentinel { .. } => (
                "redis with sentinels",
                "For efficiency, not for correctness: replicas follow asynchronously, so a failover can lose a granted \
                 lease, and there may be two leaders for a moment.",
            ),
            Deployment::Cluster(_) => (
                "redis cluster",
                "For efficiency, not for correctness: replicas follow asynchronously, so a failover can lose a granted \
                 lease, and there may be two leaders for a moment.",
            ),
        };
        Capabilities::new(name, statement).with_pushes(true)
    }

    async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        let replies = self.inner.campaign(batch).await;
        self.examination.start_after(&replies, examine::warn(Arc::clone(&self.inner)));
        replies
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

    async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
        self.inner.history(key, limit).await
    }

    async fn forget(&self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        self.inner.forget(key, idle_for).await
    }

    async fn raise_terms(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, StoreError> {
        check_raise(above)?;
        self.inner.raise_terms(namespace, only, above).await
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

    fn ledger(&self) -> Option<&dyn JobLedger> {
        Some(self)
    }

    async fn examine(&self) -> Vec<Finding> {
        examine::examine(&self.inner).await
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisStore").field(&self.inner.place()).finish()
    }
}
