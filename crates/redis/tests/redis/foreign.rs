//! A participant of another make: all it knows is a key with an expiry that holds the id of the leader.

use std::time::Duration;

use redis::Connection;
use tenure_testkit::redis::RedisServer;

/// One such participant.
pub(crate) struct RedisForeigner {
    connection: Connection,
    key: String,
    id: Vec<u8>,
    ttl: Duration,
}

impl RedisForeigner {
    pub(crate) fn new(server: &RedisServer, key: &str, id: impl Into<Vec<u8>>, ttl: Duration) -> Self {
        Self { connection: server.connection(), key: key.to_owned(), id: id.into(), ttl }
    }

    /// Takes the key if there is none.
    pub(crate) fn acquires(&mut self) -> bool {
        let mut set = redis::cmd("SET");
        set.arg(&self.key).arg(&self.id).arg("NX").arg("PX").arg(milliseconds(self.ttl));
        set.query::<Option<String>>(&mut self.connection).unwrap().is_some()
    }

    /// Prolongs the key if it holds its id.
    pub(crate) fn renews(&mut self) -> bool {
        let script = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end \
                      return 0";
        let mut eval = redis::cmd("EVAL");
        eval.arg(script).arg(1).arg(&self.key).arg(&self.id).arg(milliseconds(self.ttl));
        eval.query::<i64>(&mut self.connection).unwrap() == 1
    }

    /// Deletes the key if it holds its id.
    pub(crate) fn releases(&mut self) -> bool {
        let script = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
        let mut eval = redis::cmd("EVAL");
        eval.arg(script).arg(1).arg(&self.key).arg(&self.id);
        eval.query::<i64>(&mut self.connection).unwrap() == 1
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap()
}
