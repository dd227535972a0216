//! What the tests of the Redis store share.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use tenure::Store;
use tenure::store::{Hint, Interest};
use tenure_testkit::redis::RedisServer;

pub(crate) use crate::store_candidate::*;

/// The hints of a handle that can be woken, and knows it. What the server says of its subscribers tells only the first.
pub(crate) async fn awake(store: &Arc<dyn Store>) -> BoxStream<'static, Hint> {
    // Both come through one subscription, and of messages everybody is told that it has begun.
    let mut messages = store.watch(Interest::Messages);
    let hints = store.watch(Interest::Own);
    assert_eq!(next(&mut messages).await, Hint::anywhere());
    hints
}

/// Waits until the server has so many handles to wake.
pub(crate) async fn listeners(server: &RedisServer, count: usize) {
    until("handles that listen", async || {
        let channels = server.command(&["PUBSUB", "CHANNELS", "tenure::wake:*"]);
        let channels: Vec<String> = redis::from_redis_value(channels).unwrap();
        (channels.len() == count).then_some(())
    })
    .await;
}
