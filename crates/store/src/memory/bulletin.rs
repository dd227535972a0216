//! The bulletin of the reference store.

use futures_util::future::{BoxFuture, ready};
use futures_util::stream::{BoxStream, StreamExt};

use super::MemoryStore;
use crate::bulletin::{Broadcast, Bulletin, BulletinPromises, Heard};
use crate::mailbox::PAYLOAD_MAX;
use crate::{ElectionKey, Replies};

const PROMISES: BulletinPromises = BulletinPromises {
    payload_max: PAYLOAD_MAX,
    statement: "Broadcasts reach the candidates inside this process that listen at that moment.",
};

impl Bulletin for MemoryStore {
    fn promises(&self) -> BulletinPromises {
        PROMISES
    }

    fn broadcast<'a>(&'a self, batch: &'a [Broadcast]) -> BoxFuture<'a, Replies<()>> {
        let step = |broadcast: &Broadcast| {
            PROMISES.check_payload(&broadcast.payload)?;
            self.audience().tell(broadcast.clone());
            Ok(())
        };
        Box::pin(ready(batch.iter().map(step).collect()))
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, Heard> {
        let listener = self.audience().join(key, ());
        self.audience().now_heard(key);
        listener.boxed()
    }
}
