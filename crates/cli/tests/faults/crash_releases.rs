//! What outlives a leader that is killed releases its lease, and not before everything of it is dead.

use std::time::Duration;

use rustix::process::Signal;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::process::{ProcessHandle, signal_all};
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{ELECTION, Scenario};
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;
use tenure_testkit::worker;

use crate::scenario;

/// A lease that outlasts every bound of this file by far.
const LONG_LEASE: TestTiming = TestTiming::from_millis(30_000, 5_000, 1_000);
/// The same, and more time to stop than any bound of this file.
const LONG_GRACE: TestTiming = TestTiming::from_millis(120_000, 10_000, 60_000);
/// What a guard takes to kill, connect and resign, and what a busy machine adds.
const SOON: Duration = Duration::from_secs(10);

/// The shell and the worker do not heed SIGTERM, and the worker is a daemon that has left the tree of its parents.
const STUBBORN_DAEMON: &str = "trap '' TERM; echo main $$; (setsid \"$@\" < /dev/null & ); while :; do sleep 600; done";

pub(crate) fn case_03_the_guard_of_a_killed_leader_ends_its_command_and_releases_the_lease(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(LONG_LEASE);
    let leader = scenario.candidate_with("a", &[], &["sh", "-c", STUBBORN_DAEMON, "sh"]);
    let main = scenario.words.find("the shell", |line| line.strip_prefix("main ")?.parse().ok());
    let first = scenario.next_start();
    let (main, worker) = (ProcessHandle::open(main), ProcessHandle::open(first.pid));
    let next = scenario.candidate("b");
    next.stands_by();
    let killed_ns = boot_ns();
    leader.signal(Signal::KILL);
    let second = scenario.next_start();
    assert_eq!(second.candidate, "b");
    assert!(second.term > first.term);
    within_ns("takeover after kill -9 of tenure", killed_ns, second.boot_ns, SOON);
    scenario.judge_crash(&[&main, &worker]);
    assert_end(&scenario, store, first.term, |reason| reason == "crashed");
}

/// Between the loss of its leadership and the end of its command.
pub(crate) fn case_03_the_guard_of_a_leader_that_is_killed_while_it_leaves_releases_the_lease(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(LONG_GRACE);
    let leader = scenario.candidate_with("a", &[], &["sh", "-c", STUBBORN_DAEMON, "sh"]);
    let main = scenario.words.find("the shell", |line| line.strip_prefix("main ")?.parse().ok());
    let first = scenario.next_start();
    let (main, worker) = (ProcessHandle::open(main), ProcessHandle::open(first.pid));
    let next = scenario.candidate("b");
    next.stands_by();
    let resigned = scenario.tenure(["resign", ELECTION, "--wait", "0s"]).status().unwrap();
    drop((resigned, leader.event("lost")));
    assert!(!worker.is_dead(), "it does not heed the request to end");
    let killed_ns = boot_ns();
    leader.signal(Signal::KILL);
    let second = scenario.next_start();
    assert_eq!(second.candidate, "b");
    within_ns("takeover after kill -9 of tenure while it leaves", killed_ns, second.boot_ns, SOON);
    scenario.judge_crash(&[&main, &worker]);
    assert_end(&scenario, store, first.term, |reason| reason == "crashed");
}

pub(crate) fn case_03_when_the_guard_is_killed_as_well_the_lease_runs_out(store: &dyn Backend) {
    let scenario = scenario(store);
    let leader = scenario.candidate("a");
    let first = scenario.next_start();
    let worker = ProcessHandle::open(first.pid);
    let next = scenario.candidate("b");
    next.stands_by();
    leader.note_kill();
    let killed_ns = boot_ns();
    signal_all([&leader.running.process, &worker.parent()], Signal::KILL);
    let second = scenario.next_start();
    assert_eq!(second.candidate, "b");
    within_ns("takeover when nobody can release", killed_ns, second.boot_ns, scenario.timing().max_failover(2));
    scenario.judge_crash(&[&worker]);
    assert_end(&scenario, store, first.term, |reason| reason == "expired" || reason == "died");
}

pub(crate) fn case_03_the_lock_of_a_killed_holder_is_released(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(LONG_LEASE);
    let lock = |id: &str| {
        let mut command = scenario.tenure(["lock", ELECTION, "--json", "--id", id]);
        command.args(LONG_LEASE.options()).arg("--").args(worker::command());
        command.env(worker::JOURNAL, scenario.path("journal"));
        RunningProcess::start(&mut command)
    };
    let start = |holder: &RunningProcess| holder.stdout().find("its command", worker::WorkerStart::parse);
    let holder = lock("a");
    let first = start(&holder);
    let worker = ProcessHandle::open(first.pid);
    let waiting = lock("b");
    waiting.stderr().find("who holds it", |line| line.contains("observed").then_some(()));
    let killed_ns = boot_ns();
    holder.signal(Signal::KILL);
    let second = start(&waiting);
    within_ns("the lock after kill -9 of its holder", killed_ns, second.boot_ns, SOON);
    assert!(second.term > first.term);
    if store.abilities().by_session {
        worker.await_end("the command of a killed holder");
    }
    assert!(worker.is_dead());
    assert_end(&scenario, store, first.term, |reason| reason == "crashed");
}

/// The store comes back before the lease has run out.
pub(crate) fn case_03_while_the_store_is_away_nobody_waits_for_the_guard_of_a_killed_leader(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(crate::PATIENT_ENOUGH);
    let leader = scenario.candidate("a");
    let worker = ProcessHandle::open(scenario.next_start().pid);
    let guard = worker.parent();
    let next = scenario.candidate("b");
    next.stands_by();
    let stalled = scenario.store.stall();
    leader.signal(Signal::KILL);
    guard.await_end("a guard whose store does not answer");
    assert!(worker.is_dead());
    drop(stalled);
    assert_eq!(scenario.next_start().candidate, "b");
    scenario.judge_crash(&[&worker]);
}

/// Checks why this term ended, where that is written down.
fn assert_end(scenario: &Scenario, store: &dyn Backend, term: u64, is_right: impl Fn(&str) -> bool) {
    let history = scenario.json(&["history", ELECTION, "--json"]);
    let ends = history.as_array().unwrap().iter().filter(|change| change["event"] != "elected");
    let reasons: Vec<&str> = ends.filter(|end| end["term"] == term).filter_map(|end| end["reason"].as_str()).collect();
    let expected = usize::from(!store.abilities().by_session);
    assert!(reasons.len() == expected && reasons.into_iter().all(is_right), "{history}");
}
