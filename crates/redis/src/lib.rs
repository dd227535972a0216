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
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tenure_core::{CampaignReply, CandidateId, ElectionName, Namespace, RenewReply, Term};
use tenure_store::clock::Clock;
use tenure_store::{
    Campaign, Capabilities, ElectionKey, Finding, Forgetting, Hint, Interest, JobLedger, Mailbox, Observation, PubSub,
    Renew, Replies, Resign, Store, StoreError, Transition,
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
    is_known: AtomicBool,
}

/// A server that takes longer to tell of itself has other problems.
const LOOK_LIMIT: Duration = Duration::from_secs(10);

impl RedisStore {
    /// Uses these servers. The first connection is made when it is needed, so a server that is away is no error.
    ///
    /// # Errors
    /// When the configuration contradicts itself.
    pub fn open(config: &RedisConfig) -> Result<Self, StoreError> {
        Self::start(config, Clock::boottime())
    }

    /// The same with another clock to compare the server's with.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    #[cfg(feature = "testing")]
    pub fn open_with_clock(config: &RedisConfig, clock: Clock) -> Result<Self, StoreError> {
        Self::start(config, clock)
    }

    /// The same as [`RedisStore::open`] with [`RedisConfig::from_client`], and nothing else to say.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    pub fn from_client(client: redis::Client) -> Result<Self, StoreError> {
        Self::open(&RedisConfig::from_client(client))
    }

    fn start(config: &RedisConfig, clock: Clock) -> Result<Self, StoreError> {
        Ok(Self { inner: Arc::new(RedisInner::new(config, clock)?), is_known: AtomicBool::new(false) })
    }

    /// Looks at the servers in the background, once. Nobody waits for it.
    fn get_to_know(&self) {
        if !self.is_known.swap(true, Ordering::Relaxed) {
            let inner = Arc::clone(&self.inner);
            tokio::spawn(async move { tokio::time::timeout(LOOK_LIMIT, examine::warn(&inner)).await });
        }
    }
}

impl Store for RedisStore {
    fn capabilities(&self) -> Capabilities {
        let (name, statement) = match self.inner.deployment() {
            Deployment::Standalone { .. } => (
                "redis",
                "One leader as long as the server keeps what it has confirmed and its wall clock does not jump; \
                 eviction, FLUSHALL, a restart without appendfsync always, or a clock that is set forward can make two.",
            ),
            Deployment::Sentinel { .. } => (
                "redis with sentinels",
                "For efficiency, not for correctness: replicas follow asynchronously, so a failover can forget a lease \
                 that was granted, and for a moment there may be two leaders.",
            ),
            Deployment::Cluster(_) => (
                "redis cluster",
                "For efficiency, not for correctness: replicas follow asynchronously, so a failover can forget a lease \
                 that was granted, and for a moment there may be two leaders.",
            ),
        };
        Capabilities::new(name, statement).with_pushes(true)
    }

    fn campaign<'a>(&'a self, batch: &'a [Campaign]) -> BoxFuture<'a, Replies<CampaignReply>> {
        Box::pin(async move {
            let replies = self.inner.campaign(batch).await;
            if replies.iter().any(Result::is_ok) {
                self.get_to_know();
            }
            replies
        })
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

    fn history<'a>(&'a self, key: &'a ElectionKey, limit: usize) -> BoxFuture<'a, Result<Vec<Transition>, StoreError>> {
        Box::pin(self.inner.history(key, limit))
    }

    fn forget<'a>(&'a self, key: &'a ElectionKey, idle_for: Duration) -> BoxFuture<'a, Result<Forgetting, StoreError>> {
        Box::pin(self.inner.forget(key, idle_for))
    }

    fn raise_terms<'a>(
        &'a self,
        namespace: &'a Namespace,
        only: Option<&'a ElectionName>,
        above: Term,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(self.inner.raise_terms(namespace, only, above))
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

    fn examine(&self) -> BoxFuture<'_, Vec<Finding>> {
        Box::pin(examine::examine(&self.inner))
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisStore").field(&self.inner.place()).finish()
    }
}
