//! Pub/sub of the reference store.

use futures_util::stream::{BoxStream, StreamExt};

use super::MemoryStore;
use crate::mailbox::MAX_PAYLOAD;
use crate::pubsub::{Broadcast, PubSub, PubSubEvent, PubSubPromises};
use crate::{ElectionKey, Replies, async_trait};

const PROMISES: PubSubPromises = PubSubPromises {
    max_payload: MAX_PAYLOAD,
    statement: "Broadcasts reach the candidates of this process that are listening at that moment.",
};

#[async_trait]
impl PubSub for MemoryStore {
    fn promises(&self) -> PubSubPromises {
        PROMISES
    }

    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()> {
        let step = |broadcast: &Broadcast| {
            PROMISES.check_payload(&broadcast.payload)?;
            self.subscribers().tell(broadcast.clone());
            Ok(())
        };
        batch.iter().map(step).collect()
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        let listener = self.subscribers().join(key, ());
        self.subscribers().now_heard(key);
        listener.boxed()
    }
}
