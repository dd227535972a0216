//! Clients for plain threads.

use tenure_core::Namespace;

use super::store_handle::StoreHandle;
use super::{Election, Lock};
use crate::client::Observations;
use crate::error::Error;
use crate::store::Store;

/// A [`Client`](crate::Client) for plain threads.
#[derive(Debug, Clone)]
pub struct Client(crate::Client);

/// A [`ClientBuilder`](crate::ClientBuilder) whose client is for plain threads.
pub type ClientBuilder = crate::ClientBuilder<Client>;

wraps!(Client, crate::Client);

impl Client {
    /// Opens the store behind a URL and checks that it can be used, as [`open`](crate::Client::open) does.
    ///
    /// # Errors
    /// As there.
    pub fn open(url: &str) -> Result<Self, Error> {
        Self::builder().open(url)
    }

    /// Opens the store behind a URL without contacting a server, as [`open_lazy`](crate::Client::open_lazy) does: a SQLite file
    /// is opened at once.
    ///
    /// # Errors
    /// As there.
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
        crate::Client::with_store(store).map(Self)
    }

    /// Returns a client of the same store and thread for another namespace.
    ///
    /// # Errors
    /// When the name breaks the rule for names.
    pub fn with_namespace(&self, namespace: impl TryInto<Namespace, Error: Into<Error>>) -> Result<Self, Error> {
        self.0.with_namespace(namespace).map(Self)
    }

    /// Returns a handle of the store, as [`store`](crate::Client::store) does.
    #[must_use]
    pub fn store(&self) -> StoreHandle {
        self.0.store().into()
    }

    /// Returns the election of a name, to stand in, to observe or to send to. Does not contact the store.
    ///
    /// # Errors
    /// When the name breaks the rule for names.
    pub fn election(&self, name: &str) -> Result<Election, Error> {
        self.0.election(name).map(Election::from)
    }

    /// Returns the lock of a name: an election whose leader leaves when its work is done. Does not contact the store.
    ///
    /// # Errors
    /// When the name breaks the rule for names.
    pub fn lock(&self, name: &str) -> Result<Lock, Error> {
        self.0.lock(name).map(Lock::from)
    }

    wait_for! { crate::Client:
        fn observe_all(&self) -> Result<Observations, Error>;
    }
}
