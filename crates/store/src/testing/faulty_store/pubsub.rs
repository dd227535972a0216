//! So do broadcasts; what is heard of them does not.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt, pending};

use super::{FaultyStore, Operation};
use crate::{Broadcast, ElectionKey, PubSub, PubSubEvent, PubSubPromises, Replies, StoreError, StoreErrorKind};

impl PubSub for FaultyStore {
    fn promises(&self) -> PubSubPromises {
        let none = PubSubPromises { max_payload: 0, statement: NONE };
        self.inner.pubsub().map_or(none, PubSub::promises)
    }

    fn broadcast<'a>(&'a self, batch: &'a [Broadcast]) -> BoxFuture<'a, Replies<()>> {
        let batch: Arc<[Broadcast]> = batch.into();
        self.call(Operation::Broadcast, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            Box::pin(async move {
                match inner.pubsub() {
                    Some(pubsub) => pubsub.broadcast(&batch).await,
                    None => batch.iter().map(|_| Err(none())).collect(),
                }
            })
        })
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        self.inner.pubsub().map_or_else(|| pending().boxed(), |pubsub| pubsub.listen(key))
    }
}

const NONE: &str = "There is no bulletin.";

/// Nobody gets here: without pub/sub inside there is none outside.
fn none() -> StoreError {
    StoreError::refused(StoreErrorKind::Unsupported, NONE)
}
