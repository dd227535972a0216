//! kill -9 of everything that can be killed.

use std::time::Duration;

use rustix::process::Signal;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::eventually;
use tenure_testkit::process::{ProcessHandle, signal_all};
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;

use crate::scenario;

pub(crate) fn case_03_the_command_of_a_killed_leader_dies_and_the_next_one_starts(store: &dyn Backend) {
    // Nobody waits for a lease, not even for one that no test could wait out.
    for timing in [TestTiming::SHORT, TestTiming::PATIENT] {
        let scenario = scenario(store).with_timing(timing);
        let leader = scenario.candidate("a");
        let worker = ProcessHandle::open(scenario.next_start().pid);
        let next = scenario.candidate("b");
        next.stands_by();
        let killed_ns = boot_ns();
        leader.signal(Signal::KILL);
        let second = scenario.next_start();
        assert_eq!(second.candidate, "b");
        within_ns("takeover after kill -9", killed_ns, second.boot_ns, TestTiming::SHORT.max_failover(2));
        scenario.judge_crash(&[&worker]);
    }
}

pub(crate) fn case_21_when_the_guard_is_killed_its_command_dies_and_tenure_campaigns_again(store: &dyn Backend) {
    let scenario = scenario(store);
    let mut leader = scenario.candidate("a");
    let first = scenario.next_start();
    let worker = ProcessHandle::open(first.pid);
    worker.parent().signal(Signal::KILL);
    let second = scenario.next_start();
    assert!(worker.is_dead());
    assert!(second.term > first.term && second.candidate == "a");
    scenario.judge();
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
}

/// `tenure` and its guard are killed at once, each time at another moment around the fork of the command.
pub(crate) fn case_28_killed_in_the_middle_of_a_start_it_leaves_no_command_behind(store: &dyn Backend) {
    for round in 0..10 {
        // Each round waits for the lease of one that was killed.
        let scenario = scenario(store).with_timing(TestTiming::from_millis(1_000, 166, 100));
        let mut leader = scenario.candidate("a");
        scenario.next_start();
        let next = scenario.candidate("b");
        next.stands_by();
        let guard = next.running.process.only_child();
        leader.signal(Signal::TERM);
        next.event("elected");
        // Waits because every round is to strike at another point of the start.
        std::thread::sleep(Duration::from_micros(round * 300));
        next.note_kill();
        signal_all([&next.running.process, &guard], Signal::KILL);
        assert_eq!(leader.code(), 143);
        eventually("the end of all that was started", || scenario.survivors().is_empty());
        let _last = scenario.candidate("c");
        while scenario.next_start().candidate != "c" {}
        scenario.judge();
    }
}
