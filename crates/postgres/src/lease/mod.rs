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
use std::time::Duration;

use futures_util::stream::BoxStream;
use tenure_store::clock::Clock;
use tenure_store::remote::first_examination::FirstExamination;
use tenure_store::{
    Campaign, CampaignReply, CandidateId, Capabilities, ElectionKey, ElectionName, Finding, Forgetting, Hint, Interest,
    JobLedger, Mailbox, Namespace, Observation, PubSub, Renew, RenewReply, Replies, Resign, Store, StoreError, Term,
    Transition, async_trait, check_raise,
};

use self::leases::LeaseInner;
pub use self::schema::{Migration, MigrationOutcome};
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
    examination: FirstExamination,
}

impl PostgresStore {
    /// Opens a store on this server. Connects on demand, so an unreachable server is not an error here.
    #[must_use]
    pub fn open(config: &PostgresConfig) -> Self {
        Self::start(config, Clock::boottime())
    }

    /// Like [`open`](Self::open), with another clock to compare the server's clock with.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn open_with_clock(config: &PostgresConfig, clock: Clock) -> Self {
        Self::start(config, clock)
    }

    fn start(config: &PostgresConfig, clock: Clock) -> Self {
        Self { inner: Arc::new(LeaseInner::new(config, clock)), examination: FirstExamination::default() }
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn capabilities(&self) -> Capabilities {
        let statement = "One leader as long as the primary keeps its confirmed writes and its wall clock does not \
             jump; a failover to a lagging standby can lead to two, and terms grow even then.";
        Capabilities::new("postgres", statement).with_pushes(!self.inner.hears_nothing())
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

    fn schema(&self) -> Option<&str> {
        Some(self.inner.schema_name())
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

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresStore").field(&self.inner.place()).finish()
    }
}
