//! Valkey wherever Redis is.

use redis::Value;
use tenure_testkit::redis::{Flavour, RedisCluster, RedisOptions, RedisServer, SentinelGroup};
use tenure_testkit::wall_clock::FakeWallClock;

use crate::support::set_everywhere;

fn options() -> RedisOptions {
    RedisOptions::new(Flavour::Valkey)
}

#[test]
fn a_server_answers_keeps_its_data_and_sees_its_clock_jump() {
    let directory = tempfile::tempdir().unwrap();
    let clock = FakeWallClock::at(directory.path().join("clock"));
    let server = RedisServer::start_with(options().persistent().password("secret").wall_clock(&clock));
    assert_eq!(server.info("server", "server_name").as_deref(), Some("valkey"));
    server.command(&["SET", "key", "value", "EX", "30"]);
    server.restart();
    tenure_testkit::eventually("the data", || server.try_command(&["EXISTS", "key"]).is_ok());
    assert_eq!(server.command(&["EXISTS", "key"]), Value::Int(1));
    clock.jump_to(60);
    assert_eq!(server.command(&["EXISTS", "key"]), Value::Int(0));
}

#[test]
fn sentinels_replace_a_primary() {
    let servers = SentinelGroup::start_with(options());
    let old = servers.primary();
    set_everywhere(old, "key", 2);
    let _pause = old.pause();
    let new = servers.await_new_primary(old.port());
    assert_eq!(new.command(&["GET", "key"]), Value::BulkString(b"value".to_vec()));
}

#[test]
fn a_cluster_shares_its_keys() {
    let cluster = RedisCluster::start_with(options());
    for key in ["a", "b", "c"] {
        cluster.owner_of(key).command(&["SET", key, "value"]);
    }
    let owners = ["a", "b", "c"].map(|key| cluster.owner_of(key).port());
    assert!(owners[0] != owners[1] && owners[1] != owners[2] && owners[0] != owners[2], "{owners:?}");
}
