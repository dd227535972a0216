//! The bulletin: notifications to all who listen.

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tenure_store::bulletin::{Broadcast, Bulletin, BulletinPromises, Heard};
use tenure_store::{ElectionKey, Replies};

use super::super::bulletin::{Announcement, PROMISES, TELL};
use super::AdvisoryStore;

/// Apart from the channels of lease tables in the same database.
pub(super) const PLACE: &str = "postgres advisory";

impl Bulletin for AdvisoryStore {
    fn promises(&self) -> BulletinPromises {
        PROMISES
    }

    fn broadcast<'a>(&'a self, batch: &'a [Broadcast]) -> BoxFuture<'a, Replies<()>> {
        Box::pin(self.announce(batch))
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, Heard> {
        self.desk.listen(key)
    }
}

impl AdvisoryStore {
    async fn announce(&self, batch: &[Broadcast]) -> Replies<()> {
        let announcement = Announcement::new(PLACE, batch);
        if announcement.is_empty() {
            return announcement.replies(&Ok(()));
        }
        let office = self.desk.office();
        let tell = async {
            let session = office.session().await?;
            session.ask(&format!("SELECT {TELL}"), &announcement.parameters()).await
        };
        let told = tell.await.map(drop).map_err(|fault| office.tell(fault));
        announcement.replies(&told)
    }
}
