//! Pub/sub: notifications to all listeners.

use futures_util::stream::BoxStream;
use tenure_store::pubsub::{Broadcast, PubSub, PubSubEvent, PubSubPromises};
use tenure_store::{ElectionKey, Replies, async_trait};

use super::super::pubsub::{Announcement, PROMISES, TELL};
use super::AdvisoryStore;

/// Apart from the channels of lease tables in the same database.
pub(super) const PLACE: &str = "postgres advisory";

#[async_trait]
impl PubSub for AdvisoryStore {
    fn promises(&self) -> PubSubPromises {
        PROMISES
    }

    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()> {
        self.announce(batch).await
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        self.inner.listen(key)
    }
}

impl AdvisoryStore {
    async fn announce(&self, batch: &[Broadcast]) -> Replies<()> {
        let announcement = Announcement::new(PLACE, batch);
        if announcement.is_empty() {
            return announcement.replies(&Ok(()));
        }
        let shared = self.inner.shared();
        let tell = async {
            let session = shared.session().await?;
            session.ask(&format!("SELECT {TELL}"), &announcement.parameters()).await
        };
        let told = tell.await.map(drop).map_err(|fault| shared.tell(fault));
        announcement.replies(&told)
    }
}
