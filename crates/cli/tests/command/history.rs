//! What real processes print, judged by the history checker.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_history::{History, HistoryVerdict, Limits};
use tenure_testkit::bound::boot_ns;
use tenure_testkit::candidate::CandidateProcess;

use crate::support::scenario;

fn judge(lines: &[Value]) -> HistoryVerdict {
    History::parse(lines.iter().map(Value::to_string)).verdict(&Limits::default())
}

/// Ends it in order, and adds what it says on its way.
fn stop(mut candidate: CandidateProcess, lines: &mut Vec<Value>) {
    candidate.signal(Signal::TERM);
    assert_eq!(candidate.code(), 143);
    lines.extend(candidate.events_to_the_end());
}

#[test]
fn a_kill_is_a_takeover_if_somebody_tells_of_it() {
    let scenario = scenario();
    let mut first = scenario.elect("a");
    let mut lines = vec![first.event("elected")];
    let second = scenario.elect("b");
    second.event("observed");
    let killed_ns = boot_ns();
    first.signal(Signal::KILL);
    first.running.exit();
    lines.push(second.event("elected"));
    stop(second, &mut lines);
    let untold = judge(&lines);
    assert!(untold.violations().count() > 0, "nothing told of the kill, and yet: {untold}");
    lines.push(json!({"event": "killed", "candidate": "a", "pid": lines[0]["pid"], "boot_ns": killed_ns}));
    let verdict = judge(&lines);
    assert!(verdict.is_good(), "{verdict}");
    let [election] = &verdict.elections[..] else { panic!("one election is not {verdict}") };
    let reasons: Vec<&str> = election.takeovers.iter().map(|takeover| takeover.reason.as_str()).collect();
    assert_eq!((election.leaderships.len(), reasons), (2, vec!["killed"]));
}

#[test]
fn a_leader_that_was_paused_led_no_longer_than_it_was_trusted() {
    let scenario = scenario();
    let first = scenario.elect("a");
    let mut lines = vec![first.event("elected")];
    let second = scenario.elect("b");
    second.event("observed");
    first.signal(Signal::STOP);
    let next = second.event("elected");
    first.signal(Signal::CONT);
    let lost = first.event("lost");
    assert!(lost["boot_ns"].as_u64() > next["boot_ns"].as_u64(), "{lost} before {next}");
    lines.extend([next, lost.clone()]);
    stop(second, &mut lines);
    let verdict = judge(&lines);
    assert!(verdict.is_good(), "{verdict}");
    // Without the end of its trust the same lines would accuse it.
    let mut without = lost;
    without.as_object_mut().unwrap().remove("trusted_until_boot_ns");
    lines[2] = without;
    assert!(judge(&lines).violations().count() > 0);
}
