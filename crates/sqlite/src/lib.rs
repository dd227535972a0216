#![doc = include_str!("docs.md")]

#[macro_use]
mod log;

mod access;
mod aftermath;
mod books;
mod broadcasts;
mod bulletin;
mod busy;
mod config;
mod database;
mod desk;
mod error;
mod examine;
mod folder;
mod forget;
mod hearing;
mod history;
mod identity;
mod jobs;
mod leaders;
mod lease_clock;
mod ledger;
mod line;
mod listener;
mod mailbox;
mod making;
mod membership;
mod messages;
mod note;
mod presence;
mod process;
mod pulse;
mod record;
mod registry;
mod ring;
mod schema;
mod stake;
mod value;
mod verbs;
mod vigil;
mod watch;
mod worker;

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tenure_core::{CampaignReply, CandidateId, ElectionName, Namespace, RenewReply};
use tenure_store::clock::Clock;
use tenure_store::{
    Bulletin, Campaign, Capabilities, ElectionKey, Finding, Forgetting, Hint, Interest, JobLedger, Mailbox,
    Observation, Renew, Replies, Resign, Store, StoreError, Transition,
};

use self::config::Location;
use self::database::{Absence, Database};
use self::error::Fault;
use self::jobs::Jobs;
use self::lease_clock::LeaseClock;
use self::presence::Presence;
use self::pulse::Pulse;
use self::registry::Registry;
use self::vigil::Vigil;
use self::worker::Worker;

pub use self::config::path_of;

/// Elections in a file. Each open store counts as a process of its own.
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
    jobs: Arc<Jobs>,
    presence: Arc<Presence>,
}

impl SqliteStore {
    /// Opens the file at this path, and makes it if there is none. Its directory must exist.
    ///
    /// # Errors
    /// When it cannot be opened or written, belongs to another program or to a newer version of this one, or is on a
    /// file system that other machines may share. Then nothing has been written to it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::start(path.as_ref(), Clock::boottime(), Absence::Mended)
    }

    /// Opens the file at this path for somebody who only wants to look, and makes nothing if there is none.
    ///
    /// # Errors
    /// As [`SqliteStore::open`], and when there is no such file.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::start(path.as_ref(), Clock::boottime(), Absence::Refused)
    }

    /// The same with leases that run on this clock. All who use the file must use the same one.
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
            let mut vigil = Vigil::default();
            let (database, location) = match Database::open_patiently(path, &clock, &mut vigil, absence) {
                Ok(database) => {
                    membership::sweep(&database, &database.registry(), clock.now());
                    let location = database.location().clone();
                    (Some(database), location)
                }
                // Every request tells of this until it is over.
                Err(Fault::Awaited { .. }) => (None, Location::find(path)?),
                Err(fault) => return Err(fault),
            };
            let registry = database.as_ref().map_or_else(|| Registry::of(&location), Database::registry);
            let failed = |error| Fault::io("serve", path, error);
            let pulse = Pulse::new().map_err(failed)?;
            let presence = Arc::new(Presence::new(registry, Arc::new(pulse)));
            let path = location.path.clone();
            let worker = Worker::new(&location, database, (absence, vigil), clock, Arc::clone(&presence));
            let (jobs, orders) = Jobs::new();
            let jobs = Arc::new(jobs);
            presence.pulse().hearing().serve(&jobs);
            let name = "tenure-sqlite".to_owned();
            thread::Builder::new().name(name).spawn(move || worker.work(&orders)).map_err(failed)?;
            Ok(Self { path, jobs, presence })
        };
        start().map_err(|fault: Fault| fault.about(path))
    }

    /// One job for a whole batch; if it cannot be done, every request of the batch has failed.
    fn run_batch<'a, R, T>(
        &'a self,
        batch: &'a [R],
        act: fn(&mut Worker, &[R]) -> Replies<T>,
    ) -> BoxFuture<'a, Replies<T>>
    where
        R: Clone + Send + Sync + 'static,
        T: Send + 'static,
    {
        Box::pin(async move {
            let requests = batch.to_vec();
            match self.jobs.run(move |worker| act(worker, &requests)).await {
                Ok(replies) => replies,
                Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
            }
        })
    }
}

impl Store for SqliteStore {
    fn capabilities(&self) -> Capabilities {
        let statement = "Elections among the processes of one machine; \
                         a file that is copied or restored starts its terms over.";
        Capabilities::new("sqlite", statement).with_pushes(true).with_sees_death(true)
    }

    fn campaign<'a>(&'a self, batch: &'a [Campaign]) -> BoxFuture<'a, Replies<CampaignReply>> {
        self.run_batch(batch, Worker::stand)
    }

    fn renew<'a>(&'a self, batch: &'a [Renew]) -> BoxFuture<'a, Replies<RenewReply>> {
        self.run_batch(batch, Worker::keep)
    }

    fn resign<'a>(&'a self, batch: &'a [Resign]) -> BoxFuture<'a, Replies<()>> {
        self.run_batch(batch, Worker::let_go)
    }

    fn observe<'a>(&'a self, batch: &'a [ElectionKey]) -> BoxFuture<'a, Replies<Observation>> {
        self.run_batch(batch, Worker::observe)
    }

    fn elections<'a>(&'a self, namespace: &'a Namespace) -> BoxFuture<'a, Result<Vec<ElectionName>, StoreError>> {
        let namespace = namespace.clone();
        Box::pin(async move { self.jobs.run(move |worker| worker.elections(&namespace)).await? })
    }

    fn request_handover<'a>(
        &'a self,
        key: &'a ElectionKey,
        successor: Option<&'a CandidateId>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (key, successor) = (key.clone(), successor.cloned());
        Box::pin(async move { self.jobs.run(move |worker| worker.request_handover(&key, successor.as_ref())).await? })
    }

    fn history<'a>(&'a self, key: &'a ElectionKey, limit: usize) -> BoxFuture<'a, Result<Vec<Transition>, StoreError>> {
        let key = key.clone();
        Box::pin(async move { self.jobs.run(move |worker| worker.history(&key, limit)).await? })
    }

    fn forget<'a>(&'a self, key: &'a ElectionKey, idle_for: Duration) -> BoxFuture<'a, Result<Forgetting, StoreError>> {
        let key = key.clone();
        Box::pin(async move { self.jobs.run(move |worker| worker.forget(&key, idle_for)).await? })
    }

    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        let registration = match interest {
            Interest::Own | Interest::Messages => None,
            Interest::All => Some(Registration::new(&self.jobs)),
        };
        listener::hints(self.presence.pulse(), interest, registration)
    }

    fn mailbox(&self) -> Option<&dyn Mailbox> {
        Some(self)
    }

    fn bulletin(&self) -> Option<&dyn Bulletin> {
        Some(self)
    }

    fn ledger(&self) -> Option<&dyn JobLedger> {
        Some(self)
    }

    fn life_line(&self) -> Option<OwnedFd> {
        let life_line = self.presence.life_line();
        life_line.inspect_err(|fault| log!(warn, path = %self.path.display(), %fault, "no life line")).ok()
    }

    fn examine(&self) -> BoxFuture<'_, Vec<Finding>> {
        Box::pin(async move {
            match self.jobs.run(Worker::examine).await {
                Ok(findings) => findings,
                Err(error) => vec![Finding::bad("reach", error.to_string())],
            }
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.presence.pulse().hearing().end();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqliteStore").field(&self.path).finish()
    }
}

/// One stream that wants to hear of everything. It must not keep the worker alive.
struct Registration(Weak<Jobs>);

impl Registration {
    fn new(jobs: &Arc<Jobs>) -> Self {
        // A worker that cannot take it answers nothing else either.
        let _ = jobs.send(Worker::watch);
        Self(Arc::downgrade(jobs))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(jobs) = self.0.upgrade() {
            let _ = jobs.send(Worker::unwatch);
        }
    }
}
