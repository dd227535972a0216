//! What tests of stores say to all candidates, and what they hear.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tenure::store::{Broadcast, ElectionKey, PubSubEvent};
use tenure::{ChannelName, Sender, Store, StoreError, random_message_id};

/// Nothing here takes this long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// Somebody who listens.
pub struct BroadcastListener(BoxStream<'static, PubSubEvent>);

impl BroadcastListener {
    /// Begins to listen, and does not wait for it.
    #[must_use]
    pub fn begin(store: &dyn Store, key: &ElectionKey) -> Self {
        Self(store.pubsub().unwrap().listen(key))
    }

    /// Listens.
    pub async fn new(store: &dyn Store, key: &ElectionKey) -> Self {
        let mut listener = Self::begin(store, key);
        assert!(matches!(listener.next().await, PubSubEvent::Listening));
        listener
    }

    /// What is heard next.
    pub async fn next(&mut self) -> PubSubEvent {
        tokio::time::timeout(PATIENCE, self.0.next()).await.expect("something to be heard").unwrap()
    }

    /// The payload of the next broadcast.
    pub async fn payload(&mut self) -> String {
        match self.next().await {
            PubSubEvent::Broadcast(broadcast) => broadcast.payload.to_string(),
            other => panic!("a broadcast, and not {other:?}"),
        }
    }

    /// Waits until it listens again.
    pub async fn resumes(&mut self) {
        while !matches!(self.next().await, PubSubEvent::Listening) {}
    }
}

/// Says something to all.
///
/// # Errors
/// When the store does not pass it on.
pub async fn say(store: &dyn Store, key: &ElectionKey, payload: &str) -> Result<(), StoreError> {
    let broadcast = Broadcast {
        key: key.clone(),
        id: random_message_id(),
        channel: ChannelName::new("reload").unwrap(),
        sender: Sender::new("test").unwrap(),
        payload: Arc::from(payload),
    };
    store.pubsub().unwrap().broadcast(&[broadcast]).await.remove(0)
}
