//! What befalls the guard, the process between `tenure` and its command.

use rustix::process::Signal;
use tenure_testkit::process::{ProcessHandle, Victim};

use crate::support::scenario;

#[test]
fn a_stopped_guard_does_not_save_the_command_from_sigterm() {
    let scenario = scenario();
    let mut leader = scenario.candidate("a");
    let worker = ProcessHandle::open(scenario.next_start().pid);
    let guard = Victim(worker.parent());
    guard.0.signal(Signal::STOP);
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
    assert!(worker.is_dead() && guard.0.is_dead());
}

#[test]
fn a_stopped_guard_does_not_save_the_command_when_leadership_is_handed_over() {
    let scenario = scenario();
    let _leader = scenario.candidate("a");
    let worker = ProcessHandle::open(scenario.next_start().pid);
    let guard = Victim(worker.parent());
    let next = scenario.candidate("b");
    next.stands_by();
    guard.0.signal(Signal::STOP);
    assert_eq!(scenario.finish(["resign", "nightly"]).code, Some(0));
    assert_eq!(scenario.next_start().candidate, "b");
    assert!(worker.is_dead());
    scenario.judge();
    // The old leader has a new guard, and can lead again.
    next.signal(Signal::TERM);
    assert_eq!(scenario.next_start().candidate, "a");
    scenario.judge();
}

#[test]
fn a_stopped_guard_does_not_keep_a_stand_by_from_ending() {
    let scenario = scenario();
    let _leader = scenario.candidate("a");
    scenario.next_start();
    let mut stand_by = scenario.candidate("b");
    stand_by.stands_by();
    let guard = Victim(stand_by.running.process.only_child());
    guard.0.signal(Signal::STOP);
    stand_by.signal(Signal::TERM);
    assert_eq!(stand_by.code(), 143);
    assert!(guard.0.is_dead());
}

#[test]
fn a_stand_by_whose_guard_was_killed_still_takes_over() {
    let scenario = scenario();
    let leader = scenario.candidate("a");
    scenario.next_start();
    let stand_by = scenario.candidate("b");
    stand_by.stands_by();
    stand_by.running.process.only_child().signal(Signal::KILL);
    leader.signal(Signal::TERM);
    assert_eq!(scenario.next_start().candidate, "b");
    scenario.judge();
}

#[test]
fn a_stopped_guard_does_not_let_a_new_leader_lead_without_its_command() {
    let scenario = scenario();
    let leader = scenario.candidate("a");
    scenario.next_start();
    let stand_by = scenario.candidate("b");
    stand_by.stands_by();
    let guard = Victim(stand_by.running.process.only_child());
    guard.0.signal(Signal::STOP);
    leader.signal(Signal::TERM);
    assert_eq!(scenario.next_start().candidate, "b");
    assert!(guard.0.is_dead());
    scenario.judge();
}

#[test]
fn a_stopped_guard_is_noticed_while_leading() {
    let scenario = scenario();
    let _leader = scenario.candidate("a");
    let worker = ProcessHandle::open(scenario.next_start().pid);
    let guard = Victim(worker.parent());
    guard.0.signal(Signal::STOP);
    guard.0.await_end("a guard that takes in no trust");
    worker.await_end("the command of a guard that was stopped");
    // Under the same leader, or the next one: the work goes on with a guard that is there.
    scenario.next_start();
    scenario.judge();
}
