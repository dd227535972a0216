//! So do broadcasts; what is heard of them does not.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt, pending};

use super::{FaultyStore, Operation};
use crate::{Broadcast, Bulletin, BulletinPromises, ElectionKey, Heard, Replies, StoreError, StoreErrorKind};

impl Bulletin for FaultyStore {
    fn promises(&self) -> BulletinPromises {
        let none = BulletinPromises { payload_max: 0, statement: NONE };
        self.inner.bulletin().map_or(none, Bulletin::promises)
    }

    fn broadcast<'a>(&'a self, batch: &'a [Broadcast]) -> BoxFuture<'a, Replies<()>> {
        let batch: Arc<[Broadcast]> = batch.into();
        self.call(Operation::Broadcast, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            Box::pin(async move {
                match inner.bulletin() {
                    Some(bulletin) => bulletin.broadcast(&batch).await,
                    None => batch.iter().map(|_| Err(none())).collect(),
                }
            })
        })
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, Heard> {
        self.inner.bulletin().map_or_else(|| pending().boxed(), |bulletin| bulletin.listen(key))
    }
}

const NONE: &str = "There is no bulletin.";

/// Nobody gets here: without a bulletin inside there is none outside.
fn none() -> StoreError {
    StoreError::refused(StoreErrorKind::Unsupported, NONE)
}
