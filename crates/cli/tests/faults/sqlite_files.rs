//! A SQLite file that is deleted under those who use it.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use tenure_testkit::bound::{boot_ns, within, within_ns};
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::scenario::Scenario;
use tenure_testkit::stores::Sqlite;
use tenure_testkit::test_timing::TestTiming;

use crate::scenario;

/// Leases that no test could wait out: whoever leads next was not waiting for them.
pub(crate) fn case_72_a_file_that_is_deleted_under_a_leader_costs_a_moment_and_makes_no_second_leader() {
    let scenario = scenario(&Sqlite).with_timing(TestTiming::PATIENT);
    let _first = scenario.candidate("a");
    let mut leader = scenario.next_start();
    let second = scenario.candidate("b");
    second.stands_by();
    for _ in 0..3 {
        let deleted_ns = boot_ns();
        fs::remove_file(scenario.path("tenure.db")).unwrap();
        let next = scenario.next_start();
        within_ns(
            "a new leader after the file was deleted",
            deleted_ns,
            next.boot_ns,
            TestTiming::SHORT.max_failover(2),
        );
        assert!(next.term > leader.term, "{next:?} after {leader:?}");
        assert!(ProcessHandle::open(leader.pid).is_dead());
        leader = next;
    }
    scenario.judge();
}

/// It cannot be told, and its guard ends its command in time.
pub(crate) fn case_72_a_leader_that_is_stopped_when_its_file_is_deleted_keeps_others_out() {
    let scenario = scenario(&Sqlite);
    let leader = scenario.candidate("a");
    let first = scenario.next_start();
    let second = scenario.candidate("b");
    second.stands_by();
    leader.running.process.signal(Signal::STOP);
    fs::remove_file(scenario.path("tenure.db")).unwrap();
    let newcomer = scenario.candidate("c");
    let next = scenario.next_start();
    assert!(next.candidate != "a" && ProcessHandle::open(first.pid).is_dead(), "{next:?} after {first:?}");
    leader.running.process.signal(Signal::CONT);
    scenario.judge();
    drop(newcomer);
}

/// Nothing is left that could keep others out, but the leader knows at once.
pub(crate) fn case_72_when_everything_is_deleted_two_lead_for_no_longer_than_it_takes_to_notice() {
    let scenario = scenario(&Sqlite).with_timing(TestTiming::PATIENT);
    let _leader = scenario.candidate("a");
    let first = scenario.next_start();
    delete_all(&scenario);
    let _newcomer = scenario.candidate("b");
    let next = scenario.next_start();
    assert!(next.pid != first.pid);
    ProcessHandle::open(first.pid).await_end("the work under a lease that was lost");
    within("two workers at once", scenario.journal().longest_overlap(), Duration::from_secs(1));
}

fn delete_all(scenario: &Scenario) {
    fs::remove_dir_all(scenario.path("tenure.db-tenure")).unwrap();
    fs::remove_file(scenario.path("tenure.db")).unwrap();
    // Whoever makes the file anew may have removed them already.
    let _ = fs::remove_file(scenario.path("tenure.db-wal"));
    let _ = fs::remove_file(scenario.path("tenure.db-shm"));
}
