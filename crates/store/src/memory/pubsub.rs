//! Pub/sub of the reference store.

use futures_util::future::{BoxFuture, ready};
use futures_util::stream::{BoxStream, StreamExt};

use super::MemoryStore;
use crate::mailbox::MAX_PAYLOAD;
use crate::pubsub::{Broadcast, PubSub, PubSubEvent, PubSubPromises};
use crate::{ElectionKey, Replies};

const PROMISES: PubSubPromises = PubSubPromises {
    max_payload: MAX_PAYLOAD,
    statement: "Broadcasts reach the candidates inside this process that listen at that moment.",
};

impl PubSub for MemoryStore {
    fn promises(&self) -> PubSubPromises {
        PROMISES
    }

    fn broadcast<'a>(&'a self, batch: &'a [Broadcast]) -> BoxFuture<'a, Replies<()>> {
        let step = |broadcast: &Broadcast| {
            PROMISES.check_payload(&broadcast.payload)?;
            self.subscribers().tell(broadcast.clone());
            Ok(())
        };
        Box::pin(ready(batch.iter().map(step).collect()))
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        let listener = self.subscribers().join(key, ());
        self.subscribers().now_heard(key);
        listener.boxed()
    }
}
