//! `tenure elect`.

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::scenario::ELECTION;

use crate::support::scenario;

#[test]
fn events_have_the_documented_fields_and_alternate() {
    let scenario = scenario();
    let mut candidate = scenario.elect("a");
    let mut events = vec![candidate.event("elected")];
    assert_eq!(scenario.finish(["resign", ELECTION]).code, Some(0));
    // With nobody else there it leads again.
    events.extend([candidate.event("lost"), candidate.event("elected")]);
    candidate.signal(Signal::TERM);
    assert_eq!(candidate.code(), 143);
    events.extend(candidate.events_to_the_end());
    for event in &events {
        for field in ["event", "election", "candidate", "pid", "term", "reason", "at", "boot_ns"] {
            assert!(event.get(field).is_some(), "no {field} in {event}");
        }
        assert_eq!((&event["election"], &event["candidate"]), (&Value::from(ELECTION), &Value::from("a")));
        assert!(event["boot_ns"].is_u64() && event["at"].as_str().unwrap().ends_with('Z'), "{event}");
    }
    let told: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let leading: Vec<&&str> = told.iter().filter(|kind| ["elected", "lost"].contains(kind)).collect();
    assert_eq!(leading, [&"elected", &"lost", &"elected", &"lost"]);
    assert_eq!(told.last(), Some(&"stopped"));
    let reasons: Vec<&Value> = events.iter().filter(|event| event["event"] == "lost").map(|e| &e["reason"]).collect();
    assert_eq!(reasons, ["requested", "stopped"]);
    let terms: Vec<Option<u64>> =
        events.iter().filter(|e| e["event"] == "elected").map(|e| e["term"].as_u64()).collect();
    assert!(terms[0].is_some() && terms[0] < terms[1], "{terms:?}");
}

#[test]
fn what_the_store_warns_of_is_logged_without_being_asked_for() {
    let scenario = scenario();
    let leader = scenario.elect("a");
    leader.event("elected");
    std::fs::remove_file(scenario.path("tenure.db")).unwrap();
    let warning = leader
        .running
        .stderr()
        .find("the warning", |line| line.contains("leaders that rely on this file must stop").then(|| line.to_owned()));
    assert!(warning.contains("tenure::store::sqlite"), "{warning}");
}

#[test]
fn one_hands_over_to_the_other_and_both_say_so() {
    let scenario = scenario();
    let mut first = scenario.elect("a");
    let elected = first.event("elected");
    let second = scenario.elect("b");
    let observed = second.event("observed");
    assert_eq!((&observed["leader"], &observed["term"]), (&Value::from("a"), &elected["term"]));
    first.signal(Signal::INT);
    let lost = first.event("lost");
    let next = second.event("elected");
    assert!(next["term"].as_u64() > elected["term"].as_u64());
    assert!(next["boot_ns"].as_u64() > lost["boot_ns"].as_u64(), "{next} before {lost}");
    assert_eq!(first.code(), 130);
}

#[test]
fn json_may_be_asked_for_as_everywhere_else() {
    let scenario = scenario();
    let candidate = scenario.elect_with("a", ELECTION, &["--json"]);
    assert_eq!(candidate.event("elected")["candidate"], "a");
}

#[test]
fn renewals_are_printed_when_they_are_asked_for() {
    let scenario = scenario();
    let mut candidate = scenario.elect_with("a", ELECTION, &["--renewals"]);
    let elected = candidate.event("elected");
    let renewed = candidate.event("renewed");
    assert_eq!(renewed["term"], elected["term"]);
    let trusted_until = |event: &Value| event["trusted_until_boot_ns"].as_u64().unwrap();
    assert!(trusted_until(&renewed) > trusted_until(&elected), "{renewed} after {elected}");
    candidate.signal(Signal::TERM);
    assert_eq!(candidate.code(), 143);
    let last = candidate.events_to_the_end();
    let lost = last.iter().find(|event| event["event"] == "lost").unwrap();
    assert!(trusted_until(lost) >= trusted_until(&renewed), "{lost} after {renewed}");
}

#[test]
fn it_leaves_when_nobody_reads_any_more_and_says_so() {
    let scenario = scenario();
    let mut unread = scenario.elect("a");
    unread.event("elected");
    unread.running.close_stdout();
    // Something to tell, so that it notices.
    assert_eq!(scenario.finish(["resign", ELECTION, "--json"]).code, Some(0));
    assert_eq!(unread.code(), 74);
    let told = unread.running.stderr().rest("standard error");
    assert!(matches!(&told[..], [only] if only.contains("standard output has no reader any more")), "{told:?}");
    let next = scenario.elect("b");
    next.event("elected");
}
