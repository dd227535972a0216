//! Pub/sub: notifications to all listeners.

use futures_util::stream::BoxStream;
use tenure_store::pubsub::{Broadcast, PubSub, PubSubEvent, PubSubPromises};
use tenure_store::{ElectionKey, Replies, async_trait};

use super::super::pubsub::{Announcement, PROMISES, TELL};
use super::PostgresStore;
use super::leases::LeaseInner;

#[async_trait]
impl PubSub for PostgresStore {
    fn promises(&self) -> PubSubPromises {
        PROMISES
    }

    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()> {
        self.inner.broadcast(batch).await
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        self.inner.listen(key)
    }
}

impl LeaseInner {
    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()> {
        let announcement = Announcement::new(self.schema_name(), batch);
        if announcement.is_empty() {
            return announcement.replies(&Ok(()));
        }
        let told = self.ask(&format!("SELECT {{call}}, {TELL}"), &announcement.parameters()).await;
        announcement.replies(&told.map(drop))
    }
}
