//! `tenure lock`.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::eventually;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::{ELECTION, Scenario, sh};

use crate::support::{self, scenario};

fn lock(scenario: &Scenario, options: &[&str], command: &[&str]) -> FinishedProcess {
    scenario.finish(support::arguments(scenario, "lock", options, command))
}

/// A holder whose command has begun, with the process of the command. It ends with its standard input.
fn holder(scenario: &Scenario, id: &str) -> (RunningProcess, ProcessHandle) {
    let holder = waiter(scenario, id);
    let worker = ProcessHandle::open(holder.stdout().next("the command").parse().unwrap());
    (holder, worker)
}

/// One that is to do the same as soon as it can.
fn waiter(scenario: &Scenario, id: &str) -> RunningProcess {
    let script = sh("trap '' TERM; echo $$; read line");
    let arguments = support::arguments(scenario, "lock", &["--id", id], &script);
    RunningProcess::start(scenario.tenure(arguments).stdin(Stdio::piped()))
}

fn let_it_end(holder: &mut RunningProcess) {
    drop(holder.child().stdin.take());
}

#[test]
fn the_command_runs_once_under_a_term_and_its_code_is_passed_on() {
    let scenario = scenario();
    let print = "echo $TENURE_ELECTION $TENURE_CANDIDATE $TENURE_TERM; exit 7";
    let finished = [(); 2].map(|()| lock(&scenario, &["--id", "a"], &sh(print)));
    let terms = finished.map(|finished| {
        assert_eq!(finished.code, Some(7), "{finished:?}");
        let words: Vec<&str> = finished.stdout.split(' ').collect();
        assert!(matches!(words[..], [ELECTION, "a", _]), "{words:?}");
        words[2].parse::<u64>().unwrap()
    });
    assert!(terms[0] < terms[1], "{terms:?}");
    assert_eq!(scenario.status()["leader"], Value::Null);
    assert_eq!(lock(&scenario, &[], &["no-such-command"]).code, Some(127));
}

#[test]
fn those_who_wait_are_served_in_order_of_arrival() {
    let scenario = scenario();
    let (mut first, _worker) = holder(&scenario, "a");
    let mut waiting: Vec<RunningProcess> = Vec::new();
    for id in ["b", "c", "d"] {
        waiting.push(waiter(&scenario, id));
        eventually("a place in line", || {
            scenario.status()["standing_by"].as_array().is_some_and(|line| line.len() == waiting.len())
        });
    }
    let_it_end(&mut first);
    assert_eq!(first.exit().code(), Some(1), "the shell could not read");
    for (id, mut next) in ["b", "c", "d"].into_iter().zip(waiting) {
        next.stdout().next("the command");
        assert_eq!(scenario.status()["leader"], id);
        let_it_end(&mut next);
        next.exit();
    }
}

#[test]
fn a_lock_that_is_not_free_ends_with_75_when_waiting_is_not_wanted_or_not_enough() {
    let scenario = scenario();
    let (_holder, worker) = holder(&scenario, "a");
    let finished = lock(&scenario, &["--no-wait"], &["true"]);
    assert_eq!(finished.code, Some(75), "{finished:?}");
    let told = format!("the lock {ELECTION} is held by a; leave out --no-wait to wait for it");
    assert!(finished.stderr.contains(&told), "{finished:?}");
    assert!(!finished.stderr.contains("standing by"), "{finished:?}");
    let finished = lock(&scenario, &["--wait", "0s"], &["true"]);
    assert_eq!(finished.code, Some(75), "{finished:?}");
    let told = format!("the lock {ELECTION} is held by a; give --wait more time to wait for it");
    assert!(finished.stderr.contains(&told), "{finished:?}");
    let finished = lock(&scenario, &["--wait", "2s"], &["true"]);
    assert_eq!(finished.code, Some(75), "{finished:?}");
    let told = format!("timed out after 2s waiting for lock {ELECTION}, held by a; wait longer");
    assert!(finished.stderr.contains(&told), "{finished:?}");
    for options in [["--no-wait", "--quiet"], ["--wait=2s", "--quiet"]] {
        let finished = lock(&scenario, &options, &["true"]);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(75), ""));
    }
    // That somebody else has the same id is reported, and is no failure of the store.
    assert_eq!(lock(&scenario, &["--id", "a", "--wait", "2s"], &["true"]).code, Some(75));
    assert!(!worker.is_dead());
    assert_eq!(lock(&scenario, &["--wait", "1s", "--no-wait"], &["true"]).code, Some(2));
}

#[test]
fn a_free_lock_is_had_without_any_time_to_wait() {
    let scenario = scenario();
    assert_eq!(lock(&scenario, &["--wait", "0s"], &["true"]).code, Some(0));
}

#[test]
fn a_store_that_cannot_be_asked_ends_the_wait_with_69() {
    let scenario = scenario();
    for options in [["--no-wait"], ["--wait=500ms"]] {
        let arguments = support::arguments(&scenario, "lock", &options, &["true"]);
        let store = ["--store", "redis://127.0.0.1:1"].map(str::to_owned);
        let finished = RunningProcess::start(&mut scenario.bare(store.into_iter().chain(arguments))).finish();
        assert_eq!(finished.code, Some(69), "{finished:?}");
        assert!(finished.stderr.contains("run `tenure doctor` to find out why"), "{finished:?}");
    }
}

#[test]
fn a_lock_that_is_lost_ends_the_command_and_with_76() {
    let scenario = scenario();
    let (mut holder, worker) = holder(&scenario, "a");
    let mut next = waiter(&scenario, "b");
    holder.stderr().find("the lock", |line| line.contains("leading").then_some(()));
    next.stderr().find("the line", |line| line.contains("a leads").then_some(()));
    assert_eq!(scenario.finish(["resign", ELECTION]).code, Some(0));
    next.stdout().next("the command");
    assert!(worker.is_dead(), "two commands at once");
    assert_eq!(holder.exit().code(), Some(76));
    assert!(holder.stdout().rest("commands").is_empty(), "it was started again");
    let told = format!("lost the lock {ELECTION} and stopped the command before it was done");
    holder.stderr().find("why", |line| line.contains(&told).then_some(()));
    let_it_end(&mut next);
    next.exit();
}

#[test]
fn asked_to_end_it_stops_the_command_and_releases_the_lock() {
    let scenario = scenario();
    let (mut holder, worker) = holder(&scenario, "a");
    holder.signal(Signal::TERM);
    assert_eq!(holder.exit().code(), Some(143));
    assert!(worker.is_dead());
    assert_eq!(scenario.status()["leader"], Value::Null);
}

#[test]
fn killed_it_takes_the_command_along() {
    let scenario = scenario();
    let (mut holder, worker) = holder(&scenario, "a");
    holder.signal(Signal::KILL);
    holder.exit();
    assert_eq!(lock(&scenario, &[], &["true"]).code, Some(0));
    assert!(worker.is_dead(), "two commands at once");
}
