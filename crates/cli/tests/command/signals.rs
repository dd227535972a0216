//! Signals to `tenure run` and `tenure elect`.

use rustix::process::Signal;

use crate::support::{Process, Site, sh};

#[test]
fn case_16_a_leader_asked_to_end_stops_its_command_resigns_and_says_by_which_signal() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let site = Site::new();
        let mut leader = site.candidate("a");
        let worker = Process::open(site.next_start().pid);
        leader.signal(signal);
        assert_eq!(leader.code(), code);
        assert!(worker.is_dead());
        let status = site.json(&["status", "nightly", "--json"]);
        assert_eq!(status[0]["leader"], serde_json::Value::Null, "{status}");
    }
}

#[test]
fn a_stand_by_asked_to_end_ends_without_disturbing_the_leader() {
    // Without a command to pass it on to, a closed terminal means the end.
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let site = Site::new();
        let _leader = site.candidate("a");
        let worker = Process::open(site.next_start().pid);
        let mut stand_by = site.candidate("b");
        stand_by.event("observed");
        stand_by.signal(signal);
        assert_eq!(stand_by.code(), code);
        assert!(!worker.is_dead());
        assert_eq!(site.json(&["status", "nightly", "--json"])[0]["leader"], "a");
    }
}

#[test]
fn other_signals_reach_the_command() {
    let site = Site::new();
    let script = "for s in HUP QUIT USR1 USR2 WINCH; do trap \"echo got $s\" $s; done; echo ready $$; \
                  while :; do sleep 1; done";
    let leader = site.candidate_running("a", &[], &sh(script));
    site.words.find("the command to be ready", |line| line.starts_with("ready").then_some(()));
    let signals = [
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::WINCH, "WINCH"),
    ];
    for (signal, name) in signals {
        leader.signal(signal);
        assert_eq!(site.words.next(name), format!("got {name}"));
    }
}

/// Says that it was asked to end, and goes on.
const DEAF: &str = "trap 'echo asked' TERM; echo ready $$; while :; do sleep 0.1; done";

fn ready(site: &Site) -> Process {
    Process::open(site.words.find("the command to be ready", |line| line.strip_prefix("ready ")?.parse().ok()))
}

#[test]
fn case_17_asked_a_second_time_it_does_not_wait_for_the_command() {
    let site = Site::patient();
    let mut leader = site.candidate_running("a", &[], &sh(DEAF));
    let command = ready(&site);
    leader.signal(Signal::TERM);
    assert_eq!(site.words.next("the command to be asked"), "asked");
    assert!(!command.is_dead());
    for _ in 0..5 {
        leader.signal(Signal::TERM);
    }
    assert_eq!(leader.code(), 143);
    assert!(command.is_dead());
    let history = site.json(&["history", "nightly", "--json"]);
    assert_eq!(history.as_array().unwrap().len(), 2, "released once: {history}");
}

#[test]
fn case_22_a_command_that_ignores_sigterm_is_killed_before_the_next_one_starts() {
    let site = Site::new();
    let mut leader = site.candidate_with("a", &[], &["sh", "-c", "trap '' TERM; exec \"$@\"", "sh"]);
    let start = site.next_start();
    let _next = site.candidate("b");
    leader.signal(Signal::TERM);
    assert_eq!(site.next_start().candidate, "b");
    assert!(Process::open(start.pid).is_dead());
    assert_eq!(leader.code(), 143);
    site.journal().assert_disjoint();
}
