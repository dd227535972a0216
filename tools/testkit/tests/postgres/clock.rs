//! A server whose time of day jumps.

use tenure_testkit::postgres::{PostgresOptions, PostgresServer};
use tenure_testkit::wall_clock::FakeWallClock;

#[test]
fn its_time_jumps_forth_and_back_on_all_connections() {
    let directory = tempfile::tempdir().unwrap();
    let clock = FakeWallClock::at(directory.path().join("clock"));
    let server = PostgresServer::start_with(PostgresOptions::default().wall_clock(&clock));
    let seconds = "SELECT extract(epoch FROM clock_timestamp())::bigint";
    let mut open = server.session("postgres");
    let mut seen = || {
        let old = open.run(seconds).unwrap()[0][0].clone();
        [old, server.value(seconds)].map(|text| text.unwrap().parse::<i64>().unwrap())
    };
    let before = seen();
    for jump in [3_600, -3_600, 0] {
        clock.jump_to(jump);
        let now = seen();
        assert!(now.iter().zip(before).all(|(now, before)| (now - before - jump).abs() < 600), "{before:?} {now:?}");
    }
}
