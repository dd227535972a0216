//! What the tests of advisory locks share: a server, and short ways to say things.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use tenure::store::{Campaign, ElectionKey, Observation, Renew, Resign};
use tenure::{Store, StoreError};
use tenure_core::{
    CampaignReply, CandidateId, ElectionName, Held, LossReason, Namespace, Nonce, Priority, RenewReply, Term,
};
pub(crate) use tenure_testkit::PATIENCE;
use tenure_testkit::postgres::{Database, PostgresOptions, PostgresServer};

/// Longer than any test.
pub(crate) const TTL: Duration = Duration::from_secs(600);
/// A role that may do nothing but log in.
pub(crate) const ROLE: &str = "candidate";
pub(crate) const PASSWORD: &str = "secret";

/// Shared by all tests that do not end it.
pub(crate) static SERVER: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start_with(options().max_connections(400)));

/// A server that asks its candidates for no password: giving one takes processor time.
pub(crate) fn options() -> PostgresOptions {
    let options = PostgresOptions::default().role(ROLE, PASSWORD);
    options.access_rule(&format!("host all {ROLE} 127.0.0.1/32 trust"))
}

/// Where candidates find this database.
pub(crate) fn url(database: &Database<'_>) -> String {
    advisory(&database.url_as(ROLE, PASSWORD))
}

pub(crate) fn advisory(url: &str) -> String {
    url.replacen("postgres://", "postgres+advisory://", 1)
}

/// A handle of its own.
pub(crate) fn open(url: &str) -> Arc<dyn Store> {
    tenure::store::open(&url.parse().unwrap()).unwrap()
}

pub(crate) fn key(name: &str) -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new(name).unwrap() }
}

pub(crate) fn id(text: &str) -> CandidateId {
    CandidateId::new(text).unwrap()
}

/// One candidate in one election, with a nonce of its own.
#[derive(Clone)]
pub(crate) struct Stander {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) key: ElectionKey,
    pub(crate) id: CandidateId,
    pub(crate) nonce: Nonce,
    pub(crate) ttl: Duration,
}

impl Stander {
    pub(crate) fn new(store: &Arc<dyn Store>, election: &str, name: &str) -> Self {
        static USED: AtomicU64 = AtomicU64::new(1);
        let nonce = Nonce::from_bits(u128::from(USED.fetch_add(1, Ordering::Relaxed)));
        Self { store: Arc::clone(store), key: key(election), id: id(name), nonce, ttl: TTL }
    }

    /// One with a handle of its own.
    pub(crate) fn at(url: &str, election: &str, name: &str) -> Self {
        Self::new(&open(url), election, name)
    }

    pub(crate) fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    pub(crate) fn request(&self) -> Campaign {
        Campaign {
            key: self.key.clone(),
            candidate: self.id.clone(),
            nonce: self.nonce,
            ttl: self.ttl,
            priority: Priority::MAX,
            metadata: Arc::default(),
            stand_by_for: TTL,
        }
    }

    pub(crate) async fn campaign(&self) -> Result<CampaignReply, StoreError> {
        self.store.campaign(&[self.request()]).await.remove(0)
    }

    pub(crate) async fn granted(&self) -> Term {
        match self.campaign().await.unwrap() {
            CampaignReply::Granted { term } => term,
            CampaignReply::Held(held) => panic!("{:?} is kept out: {held:?}", self.id),
        }
    }

    pub(crate) async fn held(&self) -> Held {
        match self.campaign().await.unwrap() {
            CampaignReply::Held(held) => held,
            CampaignReply::Granted { term } => panic!("{:?} was granted {term:?}", self.id),
        }
    }

    /// Campaigns until it leads. Errors pass, and so do other leaders.
    pub(crate) async fn granted_soon(&self) -> Term {
        until("a grant", async || match self.campaign().await {
            Ok(CampaignReply::Granted { term }) => Some(term),
            Ok(CampaignReply::Held(_)) | Err(_) => None,
        })
        .await
    }

    pub(crate) async fn renew(&self, term: Term) -> Result<RenewReply, StoreError> {
        let renewal = Renew { key: self.key.clone(), nonce: self.nonce, term, ttl: self.ttl };
        self.store.renew(&[renewal]).await.remove(0)
    }

    pub(crate) async fn keeps(&self, term: Term) {
        let reply = self.renew(term).await.unwrap();
        assert!(matches!(reply, RenewReply::Renewed { .. }), "{reply:?}");
    }

    pub(crate) async fn has_lost(&self, term: Term) {
        let reply = self.renew(term).await.unwrap();
        assert!(matches!(reply, RenewReply::NotHolder { .. }), "{reply:?}");
    }

    pub(crate) async fn resign(&self) {
        let (key, reason) = (self.key.clone(), LossReason::Resigned);
        let resignation = Resign { key, nonce: self.nonce, term: None, successor: None, reason };
        self.store.resign(&[resignation]).await.remove(0).unwrap();
    }

    pub(crate) async fn observe(&self) -> Observation {
        self.store.observe(std::slice::from_ref(&self.key)).await.remove(0).unwrap()
    }
}

/// How many advisory locks there are in this database, marks not among them.
pub(crate) fn locks(database: &Database<'_>, condition: &str) -> usize {
    let sql = format!(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND {condition} \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    );
    database.sql(&sql).len()
}

/// Waits for what nothing tells of, and lets the store go on meanwhile.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + 2 * PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited for {what}");
        // Waits because nothing signals what is asked here.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
