//! Faults of broadcasts; receiving is not disturbed.

use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt, pending};

use super::{FaultyStore, Operation};
use crate::{
    Broadcast, ElectionKey, PubSub, PubSubEvent, PubSubPromises, Replies, StoreError, StoreErrorKind, async_trait,
};

#[async_trait]
impl PubSub for FaultyStore {
    fn promises(&self) -> PubSubPromises {
        let none = PubSubPromises { max_payload: 0, statement: NONE };
        self.inner.pubsub().map_or(none, PubSub::promises)
    }

    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()> {
        let batch: Arc<[Broadcast]> = batch.into();
        self.call(Operation::Broadcast, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            async move {
                match inner.pubsub() {
                    Some(pubsub) => pubsub.broadcast(&batch).await,
                    None => batch.iter().map(|_| Err(none())).collect(),
                }
            }
        })
        .await
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        self.inner.pubsub().map_or_else(|| pending().boxed(), |pubsub| pubsub.listen(key))
    }
}

const NONE: &str = "this store has no pub/sub";

/// Unreachable: without pub/sub inside there is none outside.
fn none() -> StoreError {
    StoreError::refused(StoreErrorKind::Unsupported, NONE)
}
