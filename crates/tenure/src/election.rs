//! An election: a named contest in a store.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{CandidateId, ElectionName};

use crate::candidacy::CandidacyBuilder;
use crate::client::Client;
use crate::error::Error;
use crate::store::{ElectionKey, Forgetting, Observation, Store, Transition};

/// An election: a named contest for one lease. Made by [`Client::election`], which checks the name once.
///
/// It is cheap to clone, and takes no part: [`candidate`](Self::candidate) describes a candidacy of this process.
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

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &ElectionName {
        &self.name
    }

    /// Begins to describe a candidacy of this process in it.
    pub fn candidate(&self) -> CandidacyBuilder {
        CandidacyBuilder::new(self.client.clone(), self.name.clone())
    }

    /// Looks at one election. Cancel safe.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn observe(&self) -> Result<Observation, Error> {
        let key = self.key();
        let look = async move |store: Arc<dyn Store>| store.observe(&[key]).await.pop();
        self.client().on_driver(look).await?.unwrap_or_else(|| Ok(Observation::default())).map_err(Error::from)
    }

    /// The latest changes of leadership, newest first. Cancel safe.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn history(&self, limit: usize) -> Result<Vec<Transition>, Error> {
        let key = self.key();
        Ok(self.client().on_driver(async move |store: Arc<dyn Store>| store.history(&key, limit).await).await??)
    }

    /// Asks whoever leads to hand over, to `successor` if one is named. Returns whether there is a leader to ask.
    ///
    /// Dropping the future does not take the request back.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn request_handover(&self, successor: Option<CandidateId>) -> Result<bool, Error> {
        let key = self.key();
        let ask = async move |store: Arc<dyn Store>| store.request_handover(&key, successor.as_ref()).await;
        Ok(self.client().on_driver(ask).await??)
    }

    /// Removes all that the store keeps of an election or a lock that nobody uses: its history, its jobs, the messages
    /// that were set aside. Terms do not fall by it: if it is ever led again, its terms go on above those that were
    /// forgotten. So they do if a candidate pauses after its leadership, and is not seen meanwhile: its next campaign begins
    /// the election anew. A record that is [damaged](crate::StoreError::damaged) is removed even if it cannot be read.
    ///
    /// Dropping the future does not take the request back.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
    /// use tenure::{Client, store::Forgetting};
    ///
    /// let client = Client::open("memory:")?;
    /// client.lock("tenant-4711")?.acquire().await?.release().await;
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
