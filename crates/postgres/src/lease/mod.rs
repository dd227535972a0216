//! Leases in a table.

mod connector;
mod examine;
mod jobs;
mod leases;
mod mailbox;
mod pubsub;
mod push;
mod reply;
mod schema;
mod terms;

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

use self::leases::LeaseInner;
pub use self::schema::Migration;
use super::config::PostgresConfig;

/// Elections in a table of PostgreSQL.
///
/// ```no_run
/// use tenure::Client;
///
/// let client = Client::open("postgres://app@db.example/shop")?;
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct PostgresStore {
    inner: Arc<LeaseInner>,
    is_known: AtomicBool,
}

/// A server that takes longer to tell of itself has other problems.
const LOOK_LIMIT: Duration = Duration::from_secs(10);

impl PostgresStore {
    /// Uses this server. The first connection is made when it is needed, so a server that is away is no error.
    #[must_use]
    pub fn open(config: &PostgresConfig) -> Self {
        Self::start(config, Clock::boottime())
    }

    /// The same with another clock to compare the server's with.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn open_with_clock(config: &PostgresConfig, clock: Clock) -> Self {
        Self::start(config, clock)
    }

    fn start(config: &PostgresConfig, clock: Clock) -> Self {
        Self { inner: Arc::new(LeaseInner::new(config, clock)), is_known: AtomicBool::new(false) }
    }

    /// Looks at the server in the background, once. Nobody waits for it.
    fn get_to_know(&self) {
        if !self.is_known.swap(true, Ordering::Relaxed) {
            let inner = Arc::clone(&self.inner);
            tokio::spawn(async move { tokio::time::timeout(LOOK_LIMIT, examine::warn(&inner)).await });
        }
    }
}

impl Store for PostgresStore {
    fn capabilities(&self) -> Capabilities {
        let statement = "One leader as long as the primary keeps what it has confirmed and its wall clock does not jump; a \
                         failover to a standby that lags behind can make two, and terms grow even then.";
        Capabilities::new("postgres", statement).with_pushes(!self.inner.hears_nothing())
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

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresStore").field(&self.inner.place()).finish()
    }
}
