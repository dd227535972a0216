//! The builder of a client.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use tenure_core::{Namespace, Sender};

use crate::client::Client;
use crate::clock::Clock;
use crate::crash::CrashHelper;
use crate::error::Error;
use crate::identity::default_candidate_id;
use crate::metrics::Classifier;
use crate::store::{self, Store, StoreUrl};

/// A builder of a [`Client`]. Made by [`Client::builder`].
///
/// ```
/// let client = tenure::Client::builder().namespace("shop").sender("api-7").open("memory:")?;
/// # drop(client);
/// # Ok::<(), tenure::Error>(())
/// ```
#[must_use = "a client begins with open()"]
pub struct ClientBuilder<C = Client> {
    // What is wrong with a value is reported when the store is opened, unless another one has taken its place.
    namespace: Result<Namespace, Error>,
    sender: Result<Sender, Error>,
    classifier: Classifier,
    clock: Clock,
    crash_helper: Option<PathBuf>,
    opens: PhantomData<fn() -> C>,
}

impl<C: From<Client>> ClientBuilder<C> {
    pub(crate) fn new() -> Self {
        Self {
            namespace: Ok(Namespace::default()),
            sender: Ok(Sender::from(default_candidate_id())),
            classifier: Classifier::by_name(),
            clock: Clock::boottime(),
            crash_helper: None,
            opens: PhantomData,
        }
    }

    /// Sets the namespace of all elections. Default: `default`.
    ///
    /// Opening fails when it breaks the rule for names.
    pub fn namespace(mut self, namespace: impl TryInto<Namespace, Error: Into<Error>>) -> Self {
        self.namespace = namespace.try_into().map_err(Into::into);
        self
    }

    /// Sets the sender of messages. Default: host name, process id and a random suffix.
    ///
    /// Opening fails when it breaks the rule for names.
    pub fn sender(mut self, sender: impl TryInto<Sender, Error: Into<Error>>) -> Self {
        self.sender = sender.try_into().map_err(Into::into);
        self
    }

    /// Sets the function that maps an election's name to its class in [metrics](crate::metrics), the label `key_class`.
    ///
    /// Default: the part of the name before the first colon. A process has at most
    /// [`MAX_CLASSES`](crate::metrics::MAX_CLASSES) classes; later ones become `other`. Labels are public: keep secret parts of a
    /// name out of them.
    ///
    /// ```
    /// let client = tenure::Client::builder()
    ///     .key_class(|name| match name.as_str() {
    ///         name if name.starts_with("customer-") => "customer".to_owned(),
    ///         name => name.to_owned(),
    ///     })
    ///     .open("memory:")?;
    /// # drop(client);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[cfg(feature = "metrics")]
    pub fn key_class(mut self, class: impl Fn(&tenure_core::ElectionName) -> String + Send + Sync + 'static) -> Self {
        self.classifier = Classifier::by(class);
        self
    }

    /// Starts a helper process that releases the leases of this process when it dies, so that the next leader need not wait
    /// for the end of a lease. Default: none.
    ///
    /// The helper is the `tenure` command of the same version: a path, or a name that is looked up in `PATH`. It watches this
    /// process through the kernel, and is handed the address of the store, nonces and terms through a socket. It ends with the
    /// last use of the client. After a crash it resigns with the reason `crashed`, once and within five seconds; if the store
    /// is away, or the helper was killed, too, leases run out as without it. A process that ends without having left its
    /// elections counts as crashed.
    ///
    /// Work that the process has handed to other processes is not looked after: use `tenure run` for that. A server that
    /// forks opens a client in each child, as always; each has a helper of its own, and what other children do does not
    /// matter. The helper is a child of this process: code that waits for any child may meet it.
    ///
    /// Needs the address of the store, so opening fails with [`with_store`](Self::with_store).
    ///
    /// ```no_run
    /// let client = tenure::Client::builder().crash_helper("tenure").open("redis://127.0.0.1:6379")?;
    /// # drop(client);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn crash_helper(mut self, program: impl Into<PathBuf>) -> Self {
        self.crash_helper = Some(program.into());
        self
    }

    /// Replaces the machine's clock.
    #[cfg(feature = "testing")]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the store behind a URL, such as `sqlite:app.db`, and checks that it can be used, as [`Client::open`] does.
    ///
    /// # Errors
    /// As [`Client::open`], and when a name that the builder was given cannot be used.
    pub fn open(self, url: &str) -> Result<C, Error> {
        let client = self.client_of(Some(url), || store::open(&url.parse::<StoreUrl>()?))?;
        client.check_usable(url)?;
        Ok(client.into())
    }

    /// Opens the store behind a URL without contacting a server, as [`Client::open_lazy`] does: a SQLite file is opened at once.
    ///
    /// # Errors
    /// As [`Client::open_lazy`], and when a name that the builder was given cannot be used.
    pub fn open_lazy(self, url: &str) -> Result<C, Error> {
        self.client_of(Some(url), || store::open(&url.parse::<StoreUrl>()?)).map(C::from)
    }

    /// Opens a store for reading, as [`open_lazy`](Self::open_lazy) does, but never creates a file.
    ///
    /// # Errors
    /// As [`open_lazy`](Self::open_lazy), and when the file does not exist.
    pub fn open_existing(self, url: &str) -> Result<C, Error> {
        self.client_of(Some(url), || store::open_existing(&url.parse::<StoreUrl>()?)).map(C::from)
    }

    /// Creates a client of a store that is already open.
    ///
    /// # Errors
    /// When a name that the builder was given cannot be used, or no thread can be started.
    pub fn with_store(self, store: Arc<dyn Store>) -> Result<C, Error> {
        self.client_of(None, || Ok(store)).map(C::from)
    }

    /// Nothing is opened when a name cannot be used.
    fn client_of(
        self,
        address: Option<&str>,
        store: impl FnOnce() -> Result<Arc<dyn Store>, store::StoreError>,
    ) -> Result<Client, Error> {
        let (namespace, sender) = (self.namespace?, self.sender?);
        let store = store()?;
        let crash_helper = match (&self.crash_helper, address) {
            (None, _) => None,
            (Some(program), Some(address)) => Some(CrashHelper::start(program, address).map_err(|error| {
                io::Error::other(format!("cannot start the crash helper {}: {error}", program.display()))
            })?),
            (Some(_), None) => {
                let why = "a crash helper opens the store by its address; open the client with one";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why).into());
            }
        };
        Client::new(store, self.clock, namespace, sender, self.classifier, crash_helper)
    }
}

impl<C> fmt::Debug for ClientBuilder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
