//! `tenure resign`.

use rustix::process::Signal;
use serde_json::json;
use tenure_testkit::candidate::CandidateProcess;
use tenure_testkit::scenario::{ELECTION, Scenario};
use tenure_testkit::test_timing::TestTiming;

use crate::support::scenario;

/// A leader and those who stand by, in this order.
fn field(scenario: &Scenario, ids: &[&str]) -> Vec<CandidateProcess> {
    let started = ids.iter().enumerate().map(|(position, id)| {
        let candidate = scenario.elect(id);
        candidate.event(if position == 0 { "elected" } else { "observed" });
        candidate
    });
    started.collect()
}

#[test]
fn the_stand_by_leads_next() {
    let scenario = scenario();
    let candidates = field(&scenario, &["a", "b"]);
    let line = scenario.json(&["resign", ELECTION, "--json"]);
    assert_eq!((&line["election"], &line["from"], &line["leader"]), (&json!(ELECTION), &json!("a"), &json!("b")));
    assert!(line["term"].as_u64() > line["from_term"].as_u64() && line["took_ms"].is_u64(), "{line}");
    assert_eq!(candidates[0].event("lost")["reason"], "requested");
    assert_eq!(candidates[1].event("elected")["term"], line["term"]);
    assert_eq!(candidates[0].event("observed")["leader"], "b");
    let told = scenario.finish(["resign", ELECTION]).stdout;
    assert!(told.starts_with("b handed over to a, term "), "{told}");
}

#[test]
fn the_named_one_leads_next_though_another_has_waited_longer() {
    let scenario = scenario();
    let candidates = field(&scenario, &["a", "b", "c"]);
    assert_eq!(scenario.json(&["resign", ELECTION, "--to", "c", "--json"])["leader"], "c");
    candidates[2].event("elected");
}

#[test]
fn a_successor_that_nobody_knows_does_not_cost_the_leader_its_lease() {
    let scenario = scenario();
    let candidates = field(&scenario, &["a", "b"]);
    let finished = scenario.finish(["resign", ELECTION, "--to", "nobody"]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("nobody does not stand by for nightly (standing by: b)"), "{finished:?}");
    // Whoever is asked afterwards is still the first leader: the name that was mistyped left nothing behind.
    assert_eq!(scenario.json(&["resign", ELECTION, "--json"])["from"], "a");
    assert_eq!(candidates[1].event("elected")["candidate"], "b");
}

#[test]
fn whoever_leads_already_is_not_unseated_for_itself() {
    let scenario = scenario();
    let _candidates = field(&scenario, &["a", "b"]);
    let line = scenario.json(&["resign", ELECTION, "--to", "a", "--json"]);
    assert_eq!((&line["leader"], &line["term"]), (&json!("a"), &line["from_term"]), "{line}");
    let finished = scenario.finish(["resign", ELECTION, "--to", "a"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.starts_with("a already leads nightly, term "), "{finished:?}");
}

#[test]
fn where_nobody_leads_nobody_can_be_asked() {
    let scenario = scenario();
    let finished = scenario.finish(["resign", ELECTION]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(finished.stderr, "tenure: nightly has no leader to ask");
}

#[test]
fn a_leader_that_does_not_answer_is_not_waited_for_longer_than_asked() {
    let scenario = scenario().with_timing(TestTiming::PATIENT);
    let leader = scenario.candidate("a");
    scenario.next_start();
    leader.signal(Signal::STOP);
    let finished = scenario.finish(["resign", ELECTION, "--wait", "700ms"]);
    assert_eq!(finished.code, Some(75), "{finished:?}");
    assert!(finished.stderr.contains("a was asked to hand over nightly but still leads"), "{finished:?}");
    // The request is not forgotten: the leader sees it as soon as it can.
    leader.signal(Signal::CONT);
    assert_eq!(leader.event("lost")["reason"], "requested");
}

#[test]
fn a_successor_that_does_not_answer_costs_its_reservation_and_not_a_lease() {
    // A lease that no test can wait out.
    let scenario = scenario().with_timing(TestTiming::from_millis(600_000, 10_000, 300));
    let stand = |id, event, more: &[&str]| {
        let candidate = scenario.elect_with(id, ELECTION, more);
        candidate.event(event);
        candidate
    };
    // One of low priority leaves the next in line the time to take over before it stands again itself.
    let _leader = stand("a", "elected", &["--priority", "0"]);
    let successor = stand("b", "observed", &[]);
    let _backup = stand("c", "observed", &[]);
    // It is alive, so nobody can tell that it will not take what is reserved for it.
    successor.signal(Signal::STOP);
    assert_eq!(scenario.json(&["resign", ELECTION, "--json"])["leader"], "c");
}
