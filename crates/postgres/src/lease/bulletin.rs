//! The bulletin: notifications to all who listen.

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tenure_store::bulletin::{Broadcast, Bulletin, BulletinPromises, Heard};
use tenure_store::{ElectionKey, Replies};

use super::super::bulletin::{Announcement, PROMISES, TELL};
use super::PostgresStore;
use super::desk::Desk;

impl Bulletin for PostgresStore {
    fn promises(&self) -> BulletinPromises {
        PROMISES
    }

    fn broadcast<'a>(&'a self, batch: &'a [Broadcast]) -> BoxFuture<'a, Replies<()>> {
        Box::pin(self.desk.broadcast(batch))
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, Heard> {
        self.desk.listen(key)
    }
}

impl Desk {
    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()> {
        let announcement = Announcement::new(self.schema_name(), batch);
        if announcement.is_empty() {
            return announcement.replies(&Ok(()));
        }
        let told = self.ask(&format!("SELECT {{call}}, {TELL}"), &announcement.parameters()).await;
        announcement.replies(&told.map(drop))
    }
}
