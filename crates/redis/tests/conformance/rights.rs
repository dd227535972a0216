//! What a user of the server must be allowed, and that nothing of it can be left out.

use tenure_testkit::redis::{RedisOptions, RedisServer};

/// The rights of a user that holds elections with the prefix `tenure` on one server, as in `ACL SETUSER NAME on >PASSWORD …`.
pub(crate) const NEEDED: &str = "~tenure:* ~{tenure:* &tenure:* +eval +evalsha +time +get +set +del +pexpire +pttl +hget \
                                 +hmget +hset +hdel +hlen +hkeys +zadd +zrem +zrank +zrange +zrangebyscore +zscore +lpush \
                                 +ltrim +lrange +sadd +smembers +srem +xadd +xdel +xlen +xrange +publish +subscribe \
                                 +unsubscribe +ping";
pub(crate) const USER: &str = "candidate";
pub(crate) const PASSWORD: &str = "secret";

/// A server with one more user, who has these rights and no others.
pub(crate) fn server_with_user(rights: &str) -> RedisServer {
    RedisServer::start_with(RedisOptions::default().user(&format!("{USER} on >{PASSWORD} {rights}")))
}
