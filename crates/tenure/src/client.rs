//! The handle of a store, and of the thread that holds elections in it.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use tenure_core::{ElectionName, Namespace, Sender};
use tenure_sys::ForkMarker;
use tokio::sync::{mpsc, oneshot};

use crate::blocking::block_on;
use crate::clock::Clock;
use crate::contain::shielded;
use crate::driver::{self, CandidacyId, CommandSender, DriverCommand};
use crate::election::Election;
use crate::error::Error;
use crate::identity::default_candidate_id;
use crate::lock::Lock;
use crate::metrics::{CandidacyPurpose, Class, Classifier};
use crate::store::{
    self, Capabilities, ElectionKey, Finding, Forgetting, Hint, Interest, Observation, Store, StoreError,
    StoreErrorKind, StoreUrl,
};

/// A store, with one thread that holds all elections of this process in it.
///
/// Open one per store and process, and make all elections from it: they share its connections and its renewals.
///
/// Clones are handles of the same thread. It ends when the last handle, the last election and the last
/// [`Leadership`](crate::Leadership) are gone. A child process made by `fork` does not have it, and must open the store
/// anew.
///
/// ```
/// use tenure::Client;
///
/// let client = Client::open("memory:")?;
/// let election = client.election("nightly-report")?.candidate().start()?;
/// let leadership = election.wait_elected();
/// println!("leading under term {}", leadership?.term());
/// election.stop_blocking();
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
    last_id: Arc<AtomicU64>,
    fork: ForkMarker,
}

/// Observed to find out whether a store can be used. It need not exist.
const CHECKED_ELECTION: &str = "tenure";

/// How long looking at the store may take; campaigns and renewals have limits of their own.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

impl Client {
    /// Opens the store behind a URL, such as `sqlite:app.db`, and checks that it can be used. Elections are in the namespace
    /// `default`.
    ///
    /// The store is asked once, for at most five seconds, during which this thread waits; it may be one of an async runtime. A
    /// service that has to start while its store is away uses [`open_lazy`](Self::open_lazy). So does one whose Redis user may
    /// read the keys of certain namespaces only: what is looked at is in the namespace `default`.
    ///
    /// # Errors
    /// When the URL cannot be understood, the store cannot be used (unreachable, wrong password, missing rights or schema), or
    /// no thread can be started.
    pub fn open(url: &str) -> Result<Self, Error> {
        let client = Self::open_lazy(url)?;
        client.check_usable(url)?;
        Ok(client)
    }

    /// Opens the store behind a URL without asking it anything: a server may be unreachable, and no error of it ends a
    /// candidacy. [`ElectionError::Store`](crate::ElectionError::Store) and
    /// [`Candidacy::store_outage`](crate::Candidacy::store_outage) tell what is wrong.
    ///
    /// # Errors
    /// When the URL cannot be understood, the file of a SQLite store cannot be opened, or no thread can be started.
    pub fn open_lazy(url: &str) -> Result<Self, Error> {
        Self::with_arc(store::open(&url.parse::<StoreUrl>()?)?, Clock::boottime())
    }

    /// [`open_lazy`](Self::open_lazy) for an application that only looks: where it would make a file, this makes none.
    ///
    /// # Errors
    /// As [`open_lazy`](Self::open_lazy), and when there is no such file.
    pub fn open_existing(url: &str) -> Result<Self, Error> {
        Self::with_arc(store::open_existing(&url.parse::<StoreUrl>()?)?, Clock::boottime())
    }

    /// Uses a store that is open already.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn with_store(store: impl Store) -> Result<Self, Error> {
        Self::with_arc(Arc::new(store), Clock::boottime())
    }

    /// Uses a store that is open already, and another clock than the machine's.
    ///
    /// # Errors
    /// When no thread can be started.
    #[cfg(feature = "testing")]
    pub fn with_store_and_clock(store: Arc<dyn Store>, clock: Clock) -> Result<Self, Error> {
        let client = Self::with_arc(store, clock)?;
        if let Some(clock) = client.clock.virtual_clock() {
            clock.attach(driver::settling(&client.commands));
        }
        Ok(client)
    }

    /// The same store and thread, for elections in another namespace.
    #[must_use]
    pub fn namespace(&self, namespace: Namespace) -> Self {
        Self { namespace, ..self.clone() }
    }

    /// The same store and thread, for elections that [metrics](crate::metrics) put into classes of the application's
    /// choice: `class` makes the value of the label `key_class` of an election's name. Without it, that is the part of
    /// the name before the first colon.
    ///
    /// A process has at most [`MAX_CLASSES`](crate::metrics::MAX_CLASSES) classes; what comes later is `other`. Labels are
    /// public: leave out of them what is secret in a name.
    ///
    /// ```
    /// use tenure::Client;
    ///
    /// let client = Client::open("memory:")?.key_class(|name| match name.as_str() {
    ///     name if name.starts_with("customer-") => "customer".to_owned(),
    ///     name => name.to_owned(),
    /// });
    /// let election = client.election("customer-4711")?.candidate().start()?;
    /// # election.stop_blocking();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn key_class(&self, class: impl Fn(&ElectionName) -> String + Send + Sync + 'static) -> Self {
        Self { classifier: Classifier::by(class), ..self.clone() }
    }

    /// An election by its name, to stand in, to look at, or to send to. Nothing is asked of the store.
    ///
    /// # Errors
    /// When the name breaks the rule for names.
    pub fn election(&self, name: &str) -> Result<Election, Error> {
        Ok(Election::new(self.clone(), ElectionName::new(name)?))
    }

    /// Describes a lock: an election whose leader leaves when its work is done.
    ///
    /// # Errors
    /// When the name breaks the rule for names.
    pub fn lock(&self, name: &str) -> Result<Lock, Error> {
        Ok(Lock::new(self.clone(), self.election(name)?.candidate()))
    }

    /// What the store can promise.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    /// A descriptor to hand to whatever process does the leader's work; see [`Store::life_line`].
    #[must_use]
    pub fn life_line(&self) -> Option<OwnedFd> {
        self.store.life_line()
    }

    /// Looks at all elections of this namespace that ever had a candidate, in two round trips. A record that is
    /// [damaged](StoreError::damaged) is an error in its place, and hides no other. Cancel safe.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn observe_all(&self) -> Result<Vec<(ElectionName, Result<Observation, StoreError>)>, Error> {
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

    /// The same for every election and lock of this namespace that nobody has used for `idle_for`. Returns their names.
    /// Those whose records are [damaged](StoreError::damaged) stay unless `idle_for` is zero: nobody knows when they were
    /// used.
    ///
    /// Dropping the future does not bring back what is forgotten already.
    ///
    /// # Errors
    /// When the store fails or keeps nothing.
    pub async fn forget_abandoned(&self, idle_for: Duration) -> Result<Vec<ElectionName>, Error> {
        let namespace = self.namespace.clone();
        let names = self.on_driver(async move |store: Arc<dyn Store>| store.elections(&namespace).await).await??;
        let mut forgotten = Vec::new();
        for name in names {
            match self.forget_idle(self.key_of(name.clone()), idle_for).await {
                Ok(Forgetting::Forgotten) => forgotten.push(name),
                Err(Error::Store(error)) if error.damaged_record().is_some() => log!(warn, "{error}"),
                told => drop(told?),
            }
        }
        Ok(forgotten)
    }

    pub(crate) async fn forget_idle(&self, key: ElectionKey, idle_for: Duration) -> Result<Forgetting, Error> {
        Ok(self.on_driver(async move |store: Arc<dyn Store>| store.forget(&key, idle_for).await).await??)
    }

    /// Checks the store: connects, reads, writes. Cancel safe.
    ///
    /// # Errors
    /// When the driver is gone or the store does not answer; what is wrong with the store is in the findings.
    pub async fn examine(&self) -> Result<Vec<Finding>, Error> {
        self.on_driver(async move |store: Arc<dyn Store>| store.examine().await).await
    }

    /// Hints of every change of leadership in the store. They may be lost, late or duplicated: look, then wait for a
    /// hint or for the known expiry, whichever comes first.
    #[must_use]
    pub fn hints(&self) -> mpsc::Receiver<Hint> {
        const HINTS_KEPT: usize = 64;
        let (sender, receiver) = mpsc::channel(HINTS_KEPT);
        let forward = move |store: Arc<dyn Store>| async move {
            let mut hints = store.watch(Interest::All);
            // Without a look at the reader, one that has left would keep the driver until the next hint, if ever.
            while let Either::Left((Some(hint), _)) = select(hints.next(), pin!(sender.closed())).await {
                // One who has sixty-four hints waiting will look anyway.
                let _ = sender.try_send(hint);
            }
        };
        let _ = self.command(DriverCommand::Call(Box::new(move |store| Box::pin(forward(store)))));
        receiver
    }

    /// Asks the store for the least that it can be asked for. What is wrong with one record is not wrong with the store.
    fn check_usable(&self, url: &str) -> Result<(), Error> {
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
        Err(io::Error::other("this process was forked from the one that opened the store; open it anew").into())
    }

    pub(crate) fn commands(&self) -> &CommandSender {
        &self.commands
    }

    pub(crate) fn store(&self) -> &dyn Store {
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

    pub(crate) fn with_sender(&self, sender: Sender) -> Self {
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

    fn with_arc(store: Arc<dyn Store>, clock: Clock) -> Result<Self, Error> {
        let fork = ForkMarker::of_this_process();
        let (commands, receiver) = mpsc::unbounded_channel();
        driver::start(Arc::clone(&store), clock.clone(), receiver)?;
        let (namespace, sender) = (Namespace::default(), Sender::from(default_candidate_id()));
        let classifier = Classifier::by_name();
        Ok(Self { commands, clock, namespace, sender, store, classifier, last_id: Arc::default(), fork })
    }
}
