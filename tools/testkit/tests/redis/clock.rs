//! A server whose time of day jumps.

use redis::Value;
use tenure_testkit::redis::{RedisOptions, RedisServer};
use tenure_testkit::wall_clock::FakeWallClock;

#[test]
fn its_time_jumps_forth_and_back() {
    let (_directory, clock, server) = server_under_a_clock();
    let seconds = || {
        let [seconds, _]: [i64; 2] = redis::from_redis_value(server.command(&["TIME"])).unwrap();
        seconds
    };
    let before = seconds();
    for jump in [60, -60, 0] {
        clock.jump_to(jump);
        assert!((seconds() - before - jump).abs() < 30, "the time did not jump by {jump} s");
    }
}

#[test]
fn a_jump_lets_a_key_expire_at_once() {
    let (_directory, clock, server) = server_under_a_clock();
    server.command(&["SET", "key", "value", "EX", "30"]);
    assert_eq!(server.command(&["EXISTS", "key"]), Value::Int(1));
    clock.jump_to(60);
    assert_eq!(server.command(&["EXISTS", "key"]), Value::Int(0));
}

fn server_under_a_clock() -> (tempfile::TempDir, FakeWallClock, RedisServer) {
    let directory = tempfile::tempdir().unwrap();
    let clock = FakeWallClock::at(directory.path().join("clock"));
    let server = RedisServer::start_with(RedisOptions::default().wall_clock(&clock));
    (directory, clock, server)
}
