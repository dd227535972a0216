//! Administration of a store.

use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use tenure_core::ElectionName;
use tokio::sync::mpsc;

use crate::client::Client;
use crate::driver::DriverCommand;
use crate::error::Error;
use crate::hints::Hints;
use crate::messages::mailbox;
use crate::store::{
    Capabilities, Finding, Forgetting, Interest, Mailbox, MailboxPromises, MessageCount, PubSub, PubSubPromises,
    Replies, Store,
};

/// A handle of the store behind a [`Client`]: its promises, its health, and its records of a whole namespace.
///
/// Made by [`Client::store`].
#[derive(Debug, Clone)]
pub struct StoreHandle {
    client: Client,
}

impl StoreHandle {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Returns the capabilities of the store.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.client.dyn_store().capabilities()
    }

    /// Returns the store's promises about messages; `None` when it has no mailbox.
    #[must_use]
    pub fn mailbox(&self) -> Option<MailboxPromises> {
        self.client.dyn_store().mailbox().map(Mailbox::promises)
    }

    /// Returns the store's promises about broadcasts; `None` when it has no pub/sub.
    #[must_use]
    pub fn pubsub(&self) -> Option<PubSubPromises> {
        self.client.dyn_store().pubsub().map(PubSub::promises)
    }

    /// Checks that the store has a ledger for jobs. Does not contact the store.
    ///
    /// # Errors
    /// When the store has no ledger; the error names stores that have one.
    #[cfg(feature = "cron")]
    pub fn check_ledger(&self) -> Result<(), Error> {
        self.client.check_ledger()
    }

    /// Returns a descriptor to pass to the process that does the leader's work; see [`Store::life_line`].
    #[must_use]
    pub fn life_line(&self) -> Option<OwnedFd> {
        self.client.dyn_store().life_line()
    }

    /// Checks the store: connects, reads, writes. Cancel safe.
    ///
    /// # Errors
    /// When the driver is gone or the store does not answer; problems of the store are in the findings.
    pub async fn examine(&self) -> Result<Vec<Finding>, Error> {
        self.client.on_driver(async move |store: Arc<dyn Store>| store.examine().await).await
    }

    /// Subscribes to hints of every change of leadership in the store.
    ///
    /// Hints may be lost, late or duplicated: observe, then wait for a hint or for the known expiry, whichever comes first.
    #[must_use]
    pub fn hints(&self) -> Hints {
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
        let _ = self.client.command(DriverCommand::Call(Box::new(move |store| Box::pin(forward(store)))));
        Hints(receiver)
    }

    /// Counts the messages of this election, or of each election of the namespace that has any, ordered by name.
    ///
    /// Among them are elections that were never led, for example because a name was mistyped. A
    /// [damaged](crate::StoreError::damaged) record is an error in its place, and hides no other. Cancel safe.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
    /// let client = tenure::Client::open("memory:")?;
    /// client.election("nightly-reprot")?.send("refresh", "monday").await?;
    /// let counts = client.store().message_counts(None).await?;
    /// let count = counts[0].as_ref().expect("a record that can be read");
    /// assert_eq!((count.election.as_str(), count.waiting), ("nightly-reprot", 1));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the name breaks the rule for names, the store has no mailbox, or it fails.
    pub async fn message_counts(&self, name: Option<&str>) -> Result<Replies<MessageCount>, Error> {
        let (namespace, only) = (self.client.own_namespace().clone(), name.map(ElectionName::new).transpose()?);
        self.client.check_mailbox()?;
        let count = async move |store: Arc<dyn Store>| mailbox(&*store)?.counts(&namespace, only.as_ref()).await;
        Ok(self.client.on_driver(count).await??)
    }

    /// [Forgets](crate::Election::forget) every election and lock of the namespace unused for `idle_for`, and returns the names.
    ///
    /// [Damaged](crate::StoreError::damaged) records stay unless `idle_for` is zero: their last use is not known.
    ///
    /// Dropping the future does not restore the elections already forgotten.
    ///
    /// # Errors
    /// When the store fails or keeps nothing.
    pub async fn forget_abandoned(&self, idle_for: Duration) -> Result<Vec<ElectionName>, Error> {
        let namespace = self.client.own_namespace().clone();
        let names =
            self.client.on_driver(async move |store: Arc<dyn Store>| store.elections(&namespace).await).await??;
        let mut forgotten = Vec::new();
        for name in names {
            match self.client.forget_idle(self.client.key_of(name.clone()), idle_for).await {
                Ok(Forgetting::Forgotten) => forgotten.push(name),
                Err(Error::Store(error)) if error.damaged_record().is_some() => log!(warn, "{error}"),
                told => drop(told?),
            }
        }
        Ok(forgotten)
    }
}
