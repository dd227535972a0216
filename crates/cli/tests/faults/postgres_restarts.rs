//! A PostgreSQL server that ends, one way or another, and comes back.

use std::rc::Rc;

use rustix::process::Signal;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::eventually;
use tenure_testkit::postgres::{APP, PostgresOptions, StopMode};
use tenure_testkit::test_timing::TestTiming;

use crate::postgres::STORE;
use crate::two_candidates::TwoCandidates;
use crate::{goes_on, scenario_at};

/// Whether it is asked, told or killed: what it has confirmed is there afterwards, and the leader as well.
pub(crate) fn case_44_a_restart_of_any_kind_costs_nothing() {
    let candidates = TwoCandidates::on(STORE.serve(PostgresOptions::default().durable()));
    for mode in [Some(StopMode::Fast), Some(StopMode::Immediate), None] {
        match mode {
            Some(mode) => candidates.server.stop(mode),
            None => candidates.server.kill(),
        }
        candidates.server.restart();
        goes_on(&candidates.scenario, &candidates.first);
    }
    candidates.ends_as_it_began();
}

/// A lease that nobody could renew runs out when it would have: the server counts no pause.
pub(crate) fn case_44_a_lease_goes_on_running_out_while_the_server_is_away() {
    let candidates = TwoCandidates::with_timing(STORE.serve(PostgresOptions::default()), TestTiming::SHORT);
    candidates.server.kill();
    let killed_ns = boot_ns();
    assert_eq!(candidates.leader.event("lost")["reason"], "expired");
    let last_seen_ns = candidates.scenario.journal().last_seen_ns(candidates.first.pid);
    within_ns("work without a server", killed_ns, last_seen_ns, candidates.scenario.timing().validated().hold());
    // Waits because the server is to be away for longer than the lease lasts.
    assert!(!candidates.next.running.process.ends_within(candidates.scenario.timing().more_than_a_lease()));
    candidates.server.restart();
    let restarted_ns = boot_ns();
    let second = candidates.scenario.next_start();
    assert!(second.term > candidates.first.term);
    within_ns("leadership after a restart", restarted_ns, second.boot_ns, candidates.scenario.timing().max_failover(2));
    candidates.scenario.judge();
}

/// The role says that commits need not wait for the disk, and the server writes to it rarely. A grant waits all the same:
/// what was confirmed to another table right before the kill is gone, and the grant is there.
pub(crate) fn case_44_a_grant_outlives_a_kill_of_the_server_although_the_role_commits_asynchronously() {
    let options = PostgresOptions::default().durable().setting("wal_writer_delay", "10s");
    let server = Rc::new(STORE.serve(options));
    server.sql(&format!("ALTER ROLE {APP} SET synchronous_commit = off"));
    server.sql("CREATE TABLE control (round integer)");
    // Nobody renews before the kill, so the grant is the last thing that was confirmed.
    let scenario = scenario_at(Rc::clone(&server)).with_timing(TestTiming::PATIENT);
    let mut kept_controls = 0;
    for round in 0..3 {
        let mut leader = scenario.candidate(&format!("leader-{round}"));
        let start = scenario.next_start();
        server.sql(&format!("SET synchronous_commit = off; INSERT INTO control VALUES ({round})"));
        server.kill();
        server.restart();
        let status = scenario.status();
        let expected = (&start.candidate.as_str().into(), &start.term.into());
        assert_eq!((&status["leader"], &status["term"]), expected, "a grant that was confirmed is forgotten");
        kept_controls += server.sql(&format!("SELECT FROM control WHERE round = {round}")).len();
        leader.signal(Signal::TERM);
        assert_eq!(leader.code(), 143);
        eventually("a lease that was given back", || scenario.status()["leader"].is_null());
    }
    println!("{kept_controls} of 3 writes survived that did not wait for the disk");
    assert!(kept_controls < 3, "this server forgets nothing, and so proves nothing");
    scenario.judge();
}
