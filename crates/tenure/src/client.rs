//! The client of a store, with the thread that holds its elections.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::select;
use tenure_core::{ElectionName, Namespace, Sender};
use tenure_sys::ForkMarker;
use tokio::sync::{mpsc, oneshot};

use crate::block_on::block_on;
use crate::client_builder::ClientBuilder;
use crate::clock::Clock;
use crate::contain::shielded;
use crate::crash::CrashHelper;
use crate::driver::{self, CandidacyId, CommandSender, DriverCommand};
use crate::election::Election;
use crate::error::Error;
use crate::lock::Lock;
use crate::messages::MessageHints;
use crate::metrics::{CandidacyPurpose, Class, Classifier};
use crate::store::{ElectionKey, Forgetting, Observation, Store, StoreError, StoreErrorKind, StoreUrl};
use crate::store_handle::StoreHandle;

/// A client of a store, with one thread that holds all its elections.
///
/// Open one per store and process, and make all elections from it: they share its connections and its renewals.
///
/// Clones share the thread. It ends when the last clone, the last election and the last
/// [`Leadership`](crate::Leadership) are gone. A child process made by `fork` does not have it, and must open the store
/// again.
///
/// ```
/// use tenure::blocking::Client;
///
/// let client = Client::open("memory:")?;
/// let candidacy = client.election("nightly-report")?.candidate().start()?;
/// let leadership = candidacy.elected();
/// println!("leading under term {}", leadership?.term());
/// candidacy.stop();
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Client {
    commands: CommandSender,
    clock: Clock,
    namespace: Namespace,
    sender: Sender,
    store: Arc<dyn Store>,
    classifier: Classifier,
    crash_helper: Option<CrashHelper>,
    last_id: Arc<AtomicU64>,
    message_hints: Arc<MessageHints>,
    fork: ForkMarker,
}

/// All elections of a namespace, as returned by [`Client::observe_all`]; a damaged record is an error in its place.
pub type Observations = Vec<(ElectionName, Result<Observation, StoreError>)>;

/// Observed to find out whether a store can be used. It need not exist.
const CHECKED_ELECTION: &str = "tenure";

/// How long looking at the store may take; campaigns and renewals have limits of their own.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

impl Client {
    /// Opens the store behind a URL, such as `sqlite:app.db`, and checks that it can be used.
    ///
    /// Elections are in the namespace `default`; [`builder`](Self::builder) sets another one.
    ///
    /// The check blocks this thread for at most five seconds; it may be a thread of an async runtime. A
    /// service that has to start while its store is unreachable uses [`open_lazy`](Self::open_lazy).
    ///
    /// # Errors
    /// When the URL is invalid, the store cannot be used (unreachable, wrong password, missing rights or schema), or
    /// no thread can be started.
    pub fn open(url: &str) -> Result<Self, Error> {
        Self::builder().open(url)
    }

    /// Opens the store behind a URL without contacting a server. A SQLite file is opened at once, and created if it is missing.
    ///
    /// A server may be unreachable, and its errors end no candidacy:
    /// [`ElectionError::Store`](crate::ElectionError::Store) and
    /// [`Candidacy::store_outage`](crate::Candidacy::store_outage) report them.
    ///
    /// # Errors
    /// When the URL is invalid, the file of a SQLite store cannot be opened, or no thread can be started.
    pub fn open_lazy(url: &str) -> Result<Self, Error> {
        Self::builder().open_lazy(url)
    }

    /// Returns a builder that sets the namespace, the sender of messages and the classes of metrics.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::new()
    }

    /// Creates a client of a store that is already open.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn with_store(store: impl Store) -> Result<Self, Error> {
        Self::builder().with_store(Arc::new(store))
    }

    /// Returns a client of the same store and thread for another namespace.
    ///
    /// # Errors
    /// When the name breaks the rule for names.
    pub fn with_namespace(&self, namespace: impl TryInto<Namespace, Error: Into<Error>>) -> Result<Self, Error> {
        Ok(Self { namespace: namespace.try_into().map_err(Into::into)?, ..self.clone() })
    }

    /// Returns a handle of the store: its promises, its health, and its records of the whole namespace.
    #[must_use]
    pub fn store(&self) -> StoreHandle {
        StoreHandle::new(self.clone())
    }

    /// Returns the election of a name, to stand in, to observe or to send to. Does not contact the store.
    ///
    /// # Errors
    /// When the name breaks the rule for names.
    pub fn election(&self, name: &str) -> Result<Election, Error> {
        Ok(Election::new(self.clone(), ElectionName::new(name)?))
    }

    /// Returns the lock of a name: an election whose leader leaves when its work is done. Does not contact the store.
    ///
    /// # Errors
    /// When the name breaks the rule for names.
    pub fn lock(&self, name: &str) -> Result<Lock, Error> {
        Ok(Lock::new(self.clone(), self.election(name)?.candidate()))
    }

    /// Observes all elections of this namespace that ever had a candidate, in two round trips.
    ///
    /// A [damaged](StoreError::damaged) record is an error in its place, and hides no other. Cancel safe.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn observe_all(&self) -> Result<Observations, Error> {
        let namespace = self.namespace.clone();
        let look = async move |store: Arc<dyn Store>| {
            let names = store.elections(&namespace).await?;
            let key = |name: &ElectionName| ElectionKey { namespace: namespace.clone(), name: name.clone() };
            let keys: Vec<ElectionKey> = names.iter().map(key).collect();
            let seen = store.observe(&keys).await;
            // What fails for another reason has failed for more than one.
            let one = |(name, seen): (ElectionName, Result<Observation, StoreError>)| match seen {
                Err(error) if error.damaged_record().is_none() => Err(error),
                seen => Ok((name, seen)),
            };
            names.into_iter().zip(seen).map(one).collect::<Result<Vec<_>, StoreError>>()
        };
        Ok(self.on_driver(look).await??)
    }

    pub(crate) async fn forget_idle(&self, key: ElectionKey, idle_for: Duration) -> Result<Forgetting, Error> {
        Ok(self.on_driver(async move |store: Arc<dyn Store>| store.forget(&key, idle_for).await).await??)
    }

    /// Asks the store for the least that it can be asked for. What is wrong with one record is not wrong with the store.
    pub(crate) fn check_usable(&self, url: &str) -> Result<(), Error> {
        match self.election(CHECKED_ELECTION).and_then(|election| block_on(election.observe())) {
            Ok(_) => Ok(()),
            Err(Error::Store(error)) if error.damaged_record().is_some() => Ok(()),
            // It has not even said what is wrong, so it is named here.
            Err(Error::Store(error)) if error.kind() == StoreErrorKind::TimedOut => {
                let store = url.parse::<StoreUrl>()?;
                Err(StoreError::unknown(StoreErrorKind::TimedOut, format!("{store}: {error}")).into())
            }
            Err(error) => Err(error),
        }
    }

    /// How metrics call an election.
    pub(crate) fn class_of(&self, name: &ElectionName, purpose: CandidacyPurpose) -> Class {
        self.classifier.class_of(name, purpose)
    }

    pub(crate) fn key_of(&self, name: ElectionName) -> ElectionKey {
        ElectionKey { namespace: self.namespace.clone(), name }
    }

    pub(crate) fn next_id(&self) -> CandidacyId {
        CandidacyId(self.last_id.fetch_add(1, Ordering::Relaxed) + 1)
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// # Errors
    /// When the driver is gone, or was left behind by a fork.
    pub(crate) fn command(&self, command: DriverCommand) -> Result<(), Error> {
        self.check_process()?;
        self.commands.send(command).map_err(|_| Error::Stopped)
    }

    /// To be asked before anything is locked: what another thread held at the moment of a fork stays locked in the child.
    ///
    /// # Errors
    /// When the driver was left behind by a fork.
    pub(crate) fn check_process(&self) -> Result<(), Error> {
        if self.fork.is_same_process() {
            return Ok(());
        }
        Err(io::Error::other("this process was forked after the store was opened; open the store again").into())
    }

    pub(crate) fn commands(&self) -> &CommandSender {
        &self.commands
    }

    pub(crate) fn message_hints(&self) -> &Arc<MessageHints> {
        &self.message_hints
    }

    /// What releases leases after a crash, if there is such a thing.
    pub(crate) fn crash_helper(&self) -> Option<CrashHelper> {
        self.crash_helper.clone()
    }

    pub(crate) fn dyn_store(&self) -> &dyn Store {
        &*self.store
    }

    /// In which namespace elections are.
    pub(crate) fn own_namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Under which label messages are sent.
    pub(crate) fn own_sender(&self) -> &Sender {
        &self.sender
    }

    pub(crate) fn sending_as(&self, sender: Sender) -> Self {
        Self { sender, ..self.clone() }
    }

    /// Uses the store on the driver's runtime, so that the application needs none.
    pub(crate) async fn on_driver<T, F>(
        &self,
        call: impl FnOnce(Arc<dyn Store>) -> F + Send + 'static,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.on_driver_for(LOOK_LIMIT, call).await
    }

    /// The same, for what may take longer.
    pub(crate) async fn on_driver_for<T, F>(
        &self,
        limit: Duration,
        call: impl FnOnce(Arc<dyn Store>) -> F + Send + 'static,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let bounded = move |store| async move {
            if let Ok(answer) = tokio::time::timeout(limit, call(store)).await {
                // Whoever asked may have stopped waiting.
                let _ = sender.send(answer);
            }
        };
        self.command(DriverCommand::Call(Box::new(move |store| Box::pin(bounded(store)))))?;
        shielded(receiver).await.map_err(|_| Error::silence(limit))
    }

    /// Completes after so long on the clock of this handle, or when the driver is gone. The application needs no runtime
    /// with a timer for it. Cancel safe.
    pub(crate) async fn sleep(&self, limit: Duration) {
        let (mut sender, receiver) = oneshot::channel::<()>();
        let (clock, at) = (self.clock.clone(), self.clock.now() + limit);
        let sleep = move |_| async move {
            // Without a look at who waits, one that has left would keep the driver until the time has come.
            select(pin!(clock.sleep_until(at)), pin!(sender.closed())).await;
        };
        if self.command(DriverCommand::Call(Box::new(move |store| Box::pin(sleep(store))))).is_ok() {
            // It is never sent anything: what counts is that the other side is gone.
            let _ = shielded(receiver).await;
        }
    }

    /// # Errors
    /// When no thread can be started.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Clock,
        namespace: Namespace,
        sender: Sender,
        classifier: Classifier,
        crash_helper: Option<CrashHelper>,
    ) -> Result<Self, Error> {
        let fork = ForkMarker::of_this_process();
        let (commands, receiver) = mpsc::unbounded_channel();
        driver::start(Arc::clone(&store), clock.clone(), receiver)?;
        #[cfg(feature = "testing")]
        if let Some(clock) = clock.virtual_clock() {
            clock.attach(driver::settling(&commands));
        }
        Ok(Self {
            commands,
            clock,
            namespace,
            sender,
            store,
            classifier,
            crash_helper,
            last_id: Arc::default(),
            message_hints: Arc::default(),
            fork,
        })
    }
}
