//! An election: a named contest in a store.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{CandidateId, ElectionName, Sender};

use crate::candidacy::CandidacyBuilder;
use crate::client::Client;
use crate::error::Error;
use crate::store::{ElectionKey, Forgetting, Observation, Store, Transition};

/// An election: a named contest for one lease. Made by [`Client::election`], which checks the name once.
///
/// It is cheap to clone and does not stand itself: [`candidate`](Self::candidate) builds a candidacy of this process.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
/// let mail = tenure::Client::open("memory:")?.election("mail-queue")?;
/// let candidacy = mail.candidate().start()?;
/// candidacy.elected().await?;
/// assert!(mail.observe().await?.lease.is_some());
/// # candidacy.stop().await;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Election {
    client: Client,
    name: ElectionName,
}

impl Election {
    pub(crate) fn new(client: Client, name: ElectionName) -> Self {
        Self { client, name }
    }

    /// Returns the name of the election.
    #[must_use]
    pub fn name(&self) -> &ElectionName {
        &self.name
    }

    /// Returns the same election with another sender of messages. Default: the [client's](crate::ClientBuilder::sender).
    ///
    /// Broadcasts carry it, too.
    ///
    /// # Errors
    /// When the label breaks the rule for names.
    pub fn with_sender(&self, sender: impl TryInto<Sender, Error: Into<Error>>) -> Result<Self, Error> {
        Ok(Self { client: self.client.sending_as(sender.try_into().map_err(Into::into)?), name: self.name.clone() })
    }

    /// Returns a builder of a candidacy of this process.
    pub fn candidate(&self) -> CandidacyBuilder {
        CandidacyBuilder::new(self.client.clone(), self.name.clone())
    }

    /// Asks the store for the current state of the election. Cancel safe.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn observe(&self) -> Result<Observation, Error> {
        let key = self.key();
        let look = async move |store: Arc<dyn Store>| store.observe(&[key]).await.pop();
        self.client().on_driver(look).await?.unwrap_or_else(|| Ok(Observation::default())).map_err(Error::from)
    }

    /// Returns the latest changes of leadership, newest first. Cancel safe.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn history(&self, limit: usize) -> Result<Vec<Transition>, Error> {
        let key = self.key();
        Ok(self.client().on_driver(async move |store: Arc<dyn Store>| store.history(&key, limit).await).await??)
    }

    /// Asks the leader to hand over. Returns whether there is a leader to ask.
    ///
    /// Dropping the future does not cancel the request.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn request_handover(&self) -> Result<bool, Error> {
        self.ask_for_handover(None).await
    }

    /// Asks the leader to hand over to the candidate with this id. Returns whether there is a leader to ask.
    ///
    /// Nobody checks that there is such a candidate: if it does not campaign within a second, another one may lead.
    ///
    /// Dropping the future does not cancel the request.
    ///
    /// # Errors
    /// When the id breaks the rule for names, or the store fails.
    pub async fn request_handover_to(
        &self,
        successor: impl TryInto<CandidateId, Error: Into<Error>>,
    ) -> Result<bool, Error> {
        self.ask_for_handover(Some(successor.try_into().map_err(Into::into)?)).await
    }

    async fn ask_for_handover(&self, successor: Option<CandidateId>) -> Result<bool, Error> {
        let key = self.key();
        let ask = async move |store: Arc<dyn Store>| store.request_handover(&key, successor.as_ref()).await;
        Ok(self.client().on_driver(ask).await??)
    }

    /// Removes the records of an unused election or lock: its history, its jobs, and its dead letters.
    ///
    /// Terms never fall: if the election is led again, its terms continue above the forgotten ones. The same holds for a
    /// candidate that was paused after its leadership, and so was not seen: its next campaign begins the election anew. A
    /// [damaged](crate::StoreError::damaged) record is removed even if it cannot be read.
    ///
    /// Dropping the future does not cancel the request.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
    /// use tenure::{Client, store::Forgetting};
    ///
    /// let client = Client::open("memory:")?;
    /// client.lock("tenant-4711")?.acquire().await?.release().await?;
    /// assert_eq!(client.election("tenant-4711")?.forget().await?, Forgetting::Forgotten);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the store fails or keeps nothing.
    pub async fn forget(&self) -> Result<Forgetting, Error> {
        self.client().forget_idle(self.key(), Duration::ZERO).await
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn key(&self) -> ElectionKey {
        self.client.key_of(self.name.clone())
    }
}
