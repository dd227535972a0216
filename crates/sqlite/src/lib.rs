#![doc = include_str!("docs.md")]

#[macro_use]
mod log;

mod access;
mod broadcast_rows;
mod busy;
mod config;
mod creation;
mod database;
mod db_thread;
mod error;
mod examine;
mod file_watch;
mod forget;
mod held_leases;
mod hint_stream;
mod history;
mod identity;
mod job_rows;
mod jobs;
mod lease;
mod lease_clock;
mod lost_files;
mod mailbox;
mod message_rows;
mod note;
mod open_files;
mod own_pipes;
mod peer_pipes;
mod peer_registry;
mod peer_rows;
mod pipe_dir;
mod post_commit;
mod pubsub;
mod raise_terms;
mod record;
mod request_queue;
mod schema;
mod stand_by_rows;
mod subscriptions;
mod transaction;
mod value;
mod wake_listener;
mod wake_message;
mod watched_peers;

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use futures_util::stream::BoxStream;
use tenure_store::clock::Clock;
use tenure_store::{
    Campaign, CampaignReply, CandidateId, Capabilities, ElectionKey, ElectionName, Finding, Forgetting, Hint, Interest,
    JobLedger, Mailbox, Namespace, Observation, PubSub, Renew, RenewReply, Replies, Resign, Store, StoreError, Term,
    Transition, async_trait, check_raise,
};

use self::config::Location;
use self::database::{Absence, Database};
use self::db_thread::DbThread;
use self::error::SqliteStoreError;
use self::lease_clock::LeaseClock;
use self::lost_files::LostFiles;
use self::own_pipes::OwnPipes;
use self::peer_registry::PeerRegistry;
use self::request_queue::RequestQueue;
use self::wake_listener::WakeListener;

pub use self::config::path_of;

/// A store in a SQLite file. Each open store counts as a separate process.
///
/// ```
/// use tenure::store::sqlite::SqliteStore;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("elections.db");
/// let store = SqliteStore::open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteStore {
    path: PathBuf,
    requests: Arc<RequestQueue>,
    own_pipes: Arc<OwnPipes>,
}

impl SqliteStore {
    /// Opens the file at this path, and creates it if it is missing. Its directory must exist.
    ///
    /// # Errors
    /// When it cannot be opened or written, belongs to another program or to a newer version of this one, or is on a
    /// file system that other machines may share. Then nothing has been written to it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::start(path.as_ref(), Clock::boottime(), Absence::Mended)
    }

    /// Opens an existing file, for programs that only look: creates nothing if it is missing.
    ///
    /// # Errors
    /// As [`SqliteStore::open`], and when there is no such file.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::start(path.as_ref(), Clock::boottime(), Absence::Refused)
    }

    /// Like [`open`](Self::open), with leases on this clock. All users of the file must use the same clock.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    #[cfg(feature = "testing")]
    pub fn open_with_clock(path: impl AsRef<Path>, clock: Clock) -> Result<Self, StoreError> {
        Self::start(path.as_ref(), clock, Absence::Mended)
    }

    fn start(path: &Path, clock: Clock, absence: Absence) -> Result<Self, StoreError> {
        let start = || {
            let clock = LeaseClock::of(clock)?;
            let mut lost_files = LostFiles::default();
            let (database, location) = match Database::open_patiently(path, &clock, &mut lost_files, absence) {
                Ok(database) => {
                    peer_rows::sweep(&database, &database.registry(), clock.now());
                    let location = database.location().clone();
                    (Some(database), location)
                }
                // Every request tells of this until it is over.
                Err(SqliteStoreError::Awaited { .. }) => (None, Location::find(path)?),
                Err(fault) => return Err(fault),
            };
            let registry = database.as_ref().map_or_else(|| PeerRegistry::of(&location), Database::registry);
            let failed = |error| SqliteStoreError::io("serve", path, error);
            let wake_listener = WakeListener::new().map_err(failed)?;
            let own_pipes = Arc::new(OwnPipes::new(registry, Arc::new(wake_listener)));
            let path = location.path.clone();
            let db_thread = DbThread::new(&location, database, (absence, lost_files), clock, Arc::clone(&own_pipes));
            let (requests, orders) = RequestQueue::new();
            let requests = Arc::new(requests);
            own_pipes.wake_listener().subscriptions().serve(&requests);
            let name = "tenure-sqlite".to_owned();
            thread::Builder::new().name(name).spawn(move || db_thread.work(&orders)).map_err(failed)?;
            Ok(Self { path, requests, own_pipes })
        };
        start().map_err(|fault: SqliteStoreError| fault.about(path))
    }

    /// Runs a whole batch as one request; if it cannot be done, every request of the batch has failed.
    async fn run_batch<R, T>(&self, batch: &[R], act: fn(&mut DbThread, &[R]) -> Replies<T>) -> Replies<T>
    where
        R: Clone + Send + Sync + 'static,
        T: Send + 'static,
    {
        let requests = batch.to_vec();
        match self.requests.run(move |db_thread| act(db_thread, &requests)).await {
            Ok(replies) => replies,
            Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
        }
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn capabilities(&self) -> Capabilities {
        let statement = "Elections among the processes of one machine; a copied or restored file starts its terms \
             over.";
        Capabilities::new("sqlite", statement).with_pushes(true).with_sees_death(true)
    }

    async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        self.run_batch(batch, DbThread::stand).await
    }

    async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply> {
        self.run_batch(batch, DbThread::keep).await
    }

    async fn resign(&self, batch: &[Resign]) -> Replies<()> {
        self.run_batch(batch, DbThread::let_go).await
    }

    async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
        self.run_batch(batch, DbThread::observe).await
    }

    async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        let namespace = namespace.clone();
        self.requests.run(move |db_thread| db_thread.elections(&namespace)).await?
    }

    async fn request_handover(&self, key: &ElectionKey, successor: Option<&CandidateId>) -> Result<bool, StoreError> {
        let (key, successor) = (key.clone(), successor.cloned());
        self.requests.run(move |db_thread| db_thread.request_handover(&key, successor.as_ref())).await?
    }

    async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
        let key = key.clone();
        self.requests.run(move |db_thread| db_thread.history(&key, limit)).await?
    }

    async fn forget(&self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        let key = key.clone();
        self.requests.run(move |db_thread| db_thread.forget(&key, idle_for)).await?
    }

    async fn raise_terms(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, StoreError> {
        check_raise(above)?;
        let (namespace, only) = (namespace.clone(), only.cloned());
        let raise = move |db_thread: &mut DbThread| db_thread.raise_terms(&namespace, only.as_ref(), above);
        self.requests.run(raise).await?
    }

    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        let registration = match interest {
            Interest::Own | Interest::Messages => None,
            Interest::All => Some(Registration::new(&self.requests)),
        };
        hint_stream::hints(self.own_pipes.wake_listener(), interest, registration)
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

    fn life_line(&self) -> Option<OwnedFd> {
        let life_line = self.own_pipes.life_line();
        life_line.inspect_err(|fault| log!(warn, path = %self.path.display(), %fault, "cannot open a life line")).ok()
    }

    async fn examine(&self) -> Vec<Finding> {
        match self.requests.run(DbThread::examine).await {
            Ok(findings) => findings,
            Err(error) => vec![Finding::bad("reach", error.to_string())],
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.own_pipes.wake_listener().subscriptions().end();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqliteStore").field(&self.path).finish()
    }
}

/// A stream that wants every change. It must not keep the database thread alive.
struct Registration(Weak<RequestQueue>);

impl Registration {
    fn new(requests: &Arc<RequestQueue>) -> Self {
        // A thread that cannot take it answers nothing else either.
        let _ = requests.send(DbThread::watch);
        Self(Arc::downgrade(requests))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(requests) = self.0.upgrade() {
            let _ = requests.send(DbThread::unwatch);
        }
    }
}
