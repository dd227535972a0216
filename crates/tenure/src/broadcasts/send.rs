//! Sending of broadcasts to all candidates of an election.

use std::sync::Arc;

use serde::Serialize;
use tenure_core::ChannelName;

use crate::client::Client;
use crate::election::Election;
use crate::error::Error;
use crate::messages::{SENDING_LIMIT, checked_json, send_until_known, written_json};
use crate::store::{Broadcast, MessageId, PubSub, Store, StoreError, StoreErrorKind, random_message_id};

impl Election {
    /// Broadcasts a payload to all candidates of the election, including those of this process.
    ///
    /// Returns when the store has accepted it, whether or not any candidate listens. Each candidate receives it at most once,
    /// and absent ones not at all: broadcasts are not stored, and never sent again when the outcome is unknown. Send a
    /// [message](Self::send) if it must not be lost.
    ///
    /// Dropping the future does not cancel the broadcast.
    ///
    /// # Errors
    /// When a name breaks the rule for names, the payload cannot be written as JSON or is
    /// [too large](crate::store::PubSubPromises::max_payload), the store cannot broadcast, or it fails. After an error whose
    /// [outcome is unknown](crate::WriteOutcome::Unknown) it may have been received.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tenure::Error> {
    /// let client = tenure::Client::open("memory:")?;
    /// let candidacy = client.election("nightly-report")?.candidate().start()?;
    /// let mut reloads = candidacy.broadcasts("reload")?;
    /// reloads.listening().await;
    ///
    /// let id = client.election("nightly-report")?.broadcast("reload", "prices").await?;
    /// let heard = reloads.next().await.expect("the candidacy has not been stopped");
    /// assert_eq!((heard.id, &*heard.payload), (id, r#""prices""#));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn broadcast<T: Serialize + ?Sized>(&self, channel: &str, payload: &T) -> Result<MessageId, Error> {
        self.broadcast_text(channel, written_json(payload)?).await
    }

    /// Broadcasts text that is already JSON, byte for byte; see [`broadcast`](Self::broadcast).
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast), and when the text is not JSON.
    pub async fn broadcast_json(&self, channel: &str, json: &str) -> Result<MessageId, Error> {
        self.broadcast_text(channel, checked_json(json)?).await
    }

    async fn broadcast_text(&self, channel: &str, text: String) -> Result<MessageId, Error> {
        let (key, channel) = (self.key(), ChannelName::new(channel)?);
        pubsub(self.client().dyn_store())?.promises().check_payload(&text)?;
        let (id, sender) = (random_message_id(), self.client().own_sender().clone());
        let batch: Arc<[Broadcast]> = Arc::new([Broadcast { key, id, channel, sender, payload: text.into() }]);
        let tell = move |store: Arc<dyn Store>| {
            let batch = Arc::clone(&batch);
            async move {
                match pubsub(&*store) {
                    Ok(pubsub) => pubsub.broadcast(&batch).await,
                    Err(error) => vec![Err(error)],
                }
            }
        };
        // Nobody would recognise the second copy of one that may have been heard.
        self.client().on_driver_for(SENDING_LIMIT, move |store| send_until_known(store, false, tell)).await??;
        Ok(id)
    }
}

impl Client {
    /// # Errors
    /// When the store cannot broadcast.
    pub(crate) fn check_pubsub(&self) -> Result<(), Error> {
        Ok(pubsub(self.dyn_store()).map(drop)?)
    }
}

fn pubsub(store: &dyn Store) -> Result<&dyn PubSub, StoreError> {
    store.pubsub().ok_or_else(|| {
        let message = format!("the {} store cannot broadcast; use one with pub/sub", store.capabilities().name);
        StoreError::refused(StoreErrorKind::Unsupported, message)
    })
}
