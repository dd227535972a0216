//! The rules in Lua are the rules of the core.

use std::sync::Arc;

use tenure::store::redis::{RedisConfig, RedisStore};
use tenure_testkit::redis::{RedisOptions, RedisServer};
use tenure_testkit::rules;
use tenure_testkit::wall_clock::FakeWallClock;

#[tokio::test]
async fn redis_answers_as_the_reference_does() {
    let directory = tempfile::tempdir().unwrap();
    let wall_clock = FakeWallClock::at(directory.path().join("clock"));
    let server = RedisServer::start_with(RedisOptions::default().wall_clock(&wall_clock));
    let config = RedisConfig::from_url(&server.url().parse().unwrap()).unwrap();
    let mut connection = server.connection();
    let now_ms = move || {
        let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(&mut connection).unwrap();
        seconds * 1_000 + micros / 1_000
    };
    let open = |clock| Arc::new(RedisStore::open_with_clock(&config, clock).unwrap()) as _;
    rules::answers_as_the_reference_does(wall_clock, now_ms, open).await;
}
