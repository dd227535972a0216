//! Saying something to all candidates of an election.

use std::sync::Arc;

use serde::Serialize;
use tenure_core::ChannelName;

use crate::blocking::block_on;
use crate::client::Client;
use crate::election::Election;
use crate::error::Error;
use crate::messages::{SENDING_LIMIT, checked_json, send_until_known, written_json};
use crate::store::{Broadcast, MessageId, PubSub, PubSubPromises, Store, StoreError, StoreErrorKind};

impl Election {
    /// Tells all candidates of an election something, those of this process included. Returns when the store has taken it,
    /// whether or not anybody listens.
    ///
    /// It is heard at most once by each of them, and not at all by those who are away: nothing is kept. So it is never sent
    /// again when the outcome is unknown. Whatever must not be lost is a [message](Self::send).
    ///
    /// Dropping the future does not take it back.
    ///
    /// # Errors
    /// When a name breaks the rule for names, the payload cannot be written as JSON or is
    /// [too large](PubSubPromises::max_payload), the store cannot broadcast, or it fails. After an error whose
    /// [outcome is unknown](crate::WriteOutcome::Unknown) it may have been heard.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tenure::Error> {
    /// let client = tenure::Client::open("memory:")?;
    /// let election = client.election("nightly-report")?.candidate().start()?;
    /// let mut reloads = election.broadcasts("reload")?;
    /// reloads.listening().await;
    ///
    /// let id = client.election("nightly-report")?.broadcast("reload", "prices").await?;
    /// let heard = reloads.next().await.expect("the election has not been stopped");
    /// assert_eq!((heard.id, &*heard.payload), (id, r#""prices""#));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn broadcast<T: Serialize + ?Sized>(&self, channel: &str, payload: &T) -> Result<MessageId, Error> {
        self.broadcast_text(channel, written_json(payload)?).await
    }

    /// [`broadcast`](Self::broadcast) for text that is JSON already. It is heard byte for byte.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast), and when the text is not JSON.
    pub async fn broadcast_json(&self, channel: &str, json: &str) -> Result<MessageId, Error> {
        self.broadcast_text(channel, checked_json(json)?).await
    }

    /// [`broadcast`](Self::broadcast) for plain threads.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    pub fn broadcast_blocking<T: Serialize + ?Sized>(&self, channel: &str, payload: &T) -> Result<MessageId, Error> {
        block_on(self.broadcast(channel, payload))
    }

    /// [`broadcast_json`](Self::broadcast_json) for plain threads.
    ///
    /// # Errors
    /// As [`broadcast_json`](Self::broadcast_json).
    pub fn broadcast_json_blocking(&self, channel: &str, json: &str) -> Result<MessageId, Error> {
        block_on(self.broadcast_json(channel, json))
    }

    async fn broadcast_text(&self, channel: &str, text: String) -> Result<MessageId, Error> {
        let (key, channel) = (self.key(), ChannelName::new(channel)?);
        pubsub(self.client().store())?.promises().check_payload(&text)?;
        let (id, sender) = (MessageId::random(), self.client().own_sender().clone());
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
    /// What the store promises of broadcasts; `None` when it has none.
    #[must_use]
    pub fn pubsub(&self) -> Option<PubSubPromises> {
        self.store().pubsub().map(PubSub::promises)
    }

    /// # Errors
    /// When the store cannot broadcast.
    pub(crate) fn check_pubsub(&self) -> Result<(), Error> {
        Ok(pubsub(self.store()).map(drop)?)
    }
}

fn pubsub(store: &dyn Store) -> Result<&dyn PubSub, StoreError> {
    store.pubsub().ok_or_else(|| {
        let message = format!("the {} store cannot broadcast; use one that can", store.capabilities().name);
        StoreError::refused(StoreErrorKind::Unsupported, message)
    })
}
