//! Signals to `tenure run`, at good and at bad moments.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::scenario::{ELECTION, Scenario, sh};
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;

use crate::scenario;

/// The store has the campaign and does not answer; when it does, nobody is there who would lead.
pub(crate) fn case_15_asked_to_end_during_a_campaign_it_leaves_no_lease_behind(store: &dyn Backend) {
    // A lease that is left behind would last longer than any test.
    let scenario = scenario(store).with_timing(TestTiming::PATIENT);
    assert_eq!(scenario.finish(["run", ELECTION, "--", "true"]).code, Some(0), "the store is made");
    let stalled = scenario.store.stall();
    let mut asked = scenario.candidate_with("a", &["--log", "tenure=trace"], &[]);
    asked.running.stderr().find("the campaign", |line| line.contains("campaigns sent").then_some(()));
    asked.signal(Signal::TERM);
    // Waits because nothing tells that the signal was seen; if it was not, only the moment is another one.
    assert!(!asked.running.process.ends_within(Duration::from_millis(100)));
    drop(stalled);
    assert_eq!(asked.code(), 143);
    assert_eq!(scenario.status()["leader"], Value::Null);
    let _next = scenario.candidate("b");
    assert_eq!(scenario.next_start().candidate, "b");
    // Whether it was granted before it was withdrawn is up to the store; that its end was missed would be a fault.
    let history = scenario.json(&["history", ELECTION, "--json"]);
    let ends: Vec<&Value> = history.as_array().unwrap().iter().filter(|change| change["event"] != "elected").collect();
    assert!(ends.iter().all(|end| end["reason"] == "stopped"), "a lease was left behind: {history}");
    scenario.judge();
}

pub(crate) fn case_16_a_leader_asked_to_end_stops_its_command_resigns_and_says_by_which_signal(store: &dyn Backend) {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let scenario = scenario(store);
        let mut leader = scenario.candidate("a");
        let worker = ProcessHandle::open(scenario.next_start().pid);
        leader.signal(signal);
        assert_eq!(leader.code(), code);
        assert!(worker.is_dead());
        assert_eq!(scenario.status()["leader"], Value::Null, "{}", scenario.status());
    }
}

pub(crate) fn case_16_the_next_command_starts_only_after_one_that_takes_its_time_to_end(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(TestTiming::PATIENT);
    // The shell is asked to end, and lets the worker live for a while.
    let slowly = "\"$@\" & trap 'sleep 0.3; kill -KILL $!; exit 0' TERM; wait";
    let mut leader = scenario.candidate_with("a", &[], &["sh", "-c", &format!("trap '' TERM; {slowly}"), "sh"]);
    let worker = ProcessHandle::open(scenario.next_start().pid);
    let next = scenario.candidate("b");
    next.stands_by();
    let asked_ns = boot_ns();
    leader.signal(Signal::TERM);
    let second = scenario.next_start();
    assert_eq!(second.candidate, "b");
    assert!(worker.is_dead());
    assert!(second.boot_ns - asked_ns >= 300_000_000, "the old command was not waited for");
    within_ns("hand-over with 0.3 s of tidying up", asked_ns, second.boot_ns, TestTiming::SHORT.max_failover(2));
    assert_eq!(leader.code(), 143);
    scenario.judge();
}

/// Says that it was asked to end, and goes on.
const DEAF: &str = "trap 'echo asked' TERM; echo ready $$; while :; do sleep 0.1; done";

fn ready(scenario: &Scenario) -> ProcessHandle {
    ProcessHandle::open(
        scenario.words.find("the command to be ready", |line| line.strip_prefix("ready ")?.parse().ok()),
    )
}

pub(crate) fn case_17_asked_a_second_time_it_does_not_wait_for_the_command(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(TestTiming::PATIENT);
    let mut leader = scenario.candidate_running("a", &[], &sh(DEAF));
    let command = ready(&scenario);
    leader.signal(Signal::TERM);
    assert_eq!(scenario.words.next("the command to be asked"), "asked");
    assert!(!command.is_dead());
    for _ in 0..5 {
        leader.signal(Signal::TERM);
    }
    assert_eq!(leader.code(), 143);
    assert!(command.is_dead());
    if store.abilities().by_session {
        assert_eq!(scenario.json(&["status", ELECTION, "--json"])[0]["leader"], Value::Null, "it was released");
    } else {
        let history = scenario.json(&["history", ELECTION, "--json"]);
        assert_eq!(history.as_array().unwrap().len(), 2, "released once: {history}");
    }
}

pub(crate) fn case_22_a_command_that_ignores_sigterm_is_killed_before_the_next_one_starts(store: &dyn Backend) {
    let scenario = scenario(store);
    let mut leader = scenario.candidate_with("a", &[], &["sh", "-c", "trap '' TERM; exec \"$@\"", "sh"]);
    let start = scenario.next_start();
    let next = scenario.candidate("b");
    next.stands_by();
    let asked_ns = boot_ns();
    leader.signal(Signal::TERM);
    assert_eq!(scenario.next_start().candidate, "b");
    assert!(ProcessHandle::open(start.pid).is_dead());
    let last_seen_ns = scenario.journal().last_seen_ns(start.pid);
    // It is killed when its grace is over, or when the trust is, which has just been renewed: whichever is first.
    within_ns("life after SIGTERM", asked_ns, last_seen_ns, scenario.timing().validated().hold());
    assert_eq!(leader.code(), 143);
    scenario.judge();
}
