//! A store for one property, and those who want its lock as different processes would.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use tempfile::TempDir;
use tenure::blocking::{Client, Lock, LockGuard};
use tenure::store::postgres::{Migration, PostgresConfig};
use tenure::{MemoryStore, Namespace, Store};
use tenure_testkit::postgres::{PostgresOptions, PostgresServer};
use tenure_testkit::redis::RedisServer;
use tenure_testkit::test_timing::TestTiming;

/// The lock of a property that needs only one.
pub(crate) const LOCK: &str = "migrate";

/// A store with nothing in it.
pub(crate) struct EmptyStore {
    open: Box<dyn Fn() -> Arc<dyn Store> + Send + Sync>,
    namespace: Namespace,
    _directory: Option<TempDir>,
}

impl EmptyStore {
    fn new(open: impl Fn() -> Arc<dyn Store> + Send + Sync + 'static) -> Self {
        static USED: AtomicU64 = AtomicU64::new(1);
        let namespace = format!("locks-{}", USED.fetch_add(1, Ordering::Relaxed));
        Self { open: Box::new(open), namespace: Namespace::new(&namespace).unwrap(), _directory: None }
    }

    fn at(url: String) -> Self {
        Self::new(move || tenure::store::open(&url.parse().unwrap()).unwrap())
    }

    /// A handle and a thread of its own, as another process would have.
    pub(crate) fn process(&self) -> Client {
        Client::builder().namespace(&self.namespace).with_store((self.open)()).unwrap()
    }

    /// One who wants the lock, in a process of its own. Its lease is one that no test can wait out.
    pub(crate) fn wants(&self, holder: &str) -> Lock {
        wants(&self.process(), holder)
    }
}

/// One more who wants the lock, in this process.
pub(crate) fn wants(process: &Client, holder: &str) -> Lock {
    let lock = process.lock(LOCK).unwrap().timing(TestTiming::PATIENT.validated());
    lock.id(holder)
}

/// Has it at once, or fails.
pub(crate) fn had(lock: &Lock) -> LockGuard {
    lock.clone().max_wait(tenure_testkit::PATIENCE).acquire().unwrap()
}

pub(crate) fn memory() -> EmptyStore {
    let store = MemoryStore::new();
    EmptyStore::new(move || Arc::new(store.clone()))
}

pub(crate) fn sqlite() -> EmptyStore {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("locks.db").display());
    EmptyStore { _directory: Some(directory), ..EmptyStore::at(url) }
}

pub(crate) fn redis() -> EmptyStore {
    static SERVER: LazyLock<RedisServer> = LazyLock::new(RedisServer::start);
    EmptyStore::at(SERVER.url())
}

pub(crate) fn postgres() -> EmptyStore {
    static MIGRATED: LazyLock<String> = LazyLock::new(|| {
        let config = PostgresConfig::from_url(&POSTGRES.url().parse().unwrap()).unwrap();
        POSTGRES.sql(&Migration::new(&config).role(ROLE).unwrap().script());
        POSTGRES.url_as(ROLE, PASSWORD)
    });
    EmptyStore::at(MIGRATED.clone())
}

pub(crate) fn advisory() -> EmptyStore {
    EmptyStore::at(POSTGRES.url_as(ROLE, PASSWORD).replacen("postgres://", "postgres+advisory://", 1))
}

static POSTGRES: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start_with(PostgresOptions::default().role(ROLE, PASSWORD).max_connections(200)));

const ROLE: &str = "holder";
const PASSWORD: &str = "secret";
