//! What the tests of the Redis store share.

use tenure_testkit::redis::RedisServer;

pub(crate) use crate::stander::*;

/// Waits until so many handles can be woken.
pub(crate) async fn listeners(server: &RedisServer, count: usize) {
    until("handles that listen", async || {
        let channels = server.command(&["PUBSUB", "CHANNELS", "tenure::wake:*"]);
        let channels: Vec<String> = redis::from_redis_value(channels).unwrap();
        (channels.len() == count).then_some(())
    })
    .await;
}
