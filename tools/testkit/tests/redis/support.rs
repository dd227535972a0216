//! What several of these tests do.

use tenure_testkit::PATIENCE;
use tenure_testkit::redis::RedisServer;

/// Writes `value` under this key, and waits until so many replicas have it.
pub(crate) fn set_everywhere(primary: &RedisServer, key: &str, replicas: usize) {
    // Over one connection, since a server waits for nothing but what came over the same one.
    let mut connection = primary.connection();
    redis::cmd("SET").arg(key).arg("value").exec(&mut connection).unwrap();
    let limit_ms = u64::try_from(PATIENCE.as_millis()).unwrap() - 1_000;
    let reached: usize = redis::cmd("WAIT").arg(replicas).arg(limit_ms).query(&mut connection).unwrap();
    assert_eq!(reached, replicas);
}
