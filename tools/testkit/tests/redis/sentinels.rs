//! Servers under sentinels.

use redis::Value;
use tenure_testkit::eventually;
use tenure_testkit::redis::{RedisOptions, RedisServer, SentinelGroup};

use crate::support::set_everywhere;

#[test]
fn a_primary_that_is_killed_is_replaced_and_follows_when_it_is_back() {
    let servers = SentinelGroup::start();
    let old = servers.primary();
    assert_eq!(old.port(), servers.nodes()[0].port());
    set_everywhere(old, "key", 2);
    old.kill();
    let new = servers.await_new_primary(old.port());
    assert_ne!(new.port(), old.port());
    assert_eq!(servers.primary().port(), new.port());
    assert_eq!(new.command(&["GET", "key"]), Value::BulkString(b"value".to_vec()));
    new.command(&["SET", "key", "newer"]);
    old.restart();
    eventually("the old primary as a replica", || {
        old.follows()
            && old.try_command(&["GET", "key"]).is_ok_and(|value| value == Value::BulkString(b"newer".to_vec()))
    });
}

#[test]
fn the_address_names_all_sentinels() {
    let servers = SentinelGroup::start();
    let ports: Vec<_> = servers.sentinels().iter().map(RedisServer::port).collect();
    let [a, b, c] = ports[..] else { panic!("{ports:?}") };
    assert_eq!(servers.url(), format!("redis+sentinel://127.0.0.1:{a},127.0.0.1:{b},127.0.0.1:{c}/tenure"));
}

#[test]
fn a_primary_without_replicas_can_be_told_to_refuse_writes_and_passwords_reach_everybody() {
    let options = RedisOptions::default().password("secret").line("min-replicas-to-write 1");
    let servers = SentinelGroup::start_with(options.line("min-replicas-max-lag 2"));
    assert!(servers.url().starts_with("redis+sentinel://:secret@127.0.0.1:"));
    let primary = servers.primary();
    eventually("a write", || primary.try_command(&["SET", "key", "value"]).is_ok());
    let _pauses = [servers.nodes()[1].pause(), servers.nodes()[2].pause()];
    let refused =
        || primary.try_command(&["SET", "key", "value"]).is_err_and(|error| error.code() == Some("NOREPLICAS"));
    eventually("a write that is refused", refused);
}
