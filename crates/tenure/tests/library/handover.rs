//! Leadership that passes on in an orderly way.

use std::time::Duration;

use tenure::Error;
use tenure::store::Forgetting;
use tenure::testing::Operation;

use crate::support::{Lab, id, timing};

/// Much longer than a hand-over takes, much shorter than a ttl.
const SOON: Duration = Duration::from_millis(500);

#[test]
fn a_resignation_passes_to_whoever_has_waited_longest() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let first = lab.candidate("b").start().unwrap();
    lab.pass(SOON);
    let second = lab.candidate("c").start().unwrap();
    lab.pass(SOON);
    leader.resign().unwrap();
    lab.pass(SOON);
    assert!(first.is_leader() && !second.is_leader() && !leader.is_leader());
}

#[test]
fn a_resignation_passes_to_the_one_that_was_named() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let first = lab.candidate("b").start().unwrap();
    lab.pass(SOON);
    let second = lab.candidate("c").start().unwrap();
    lab.pass(SOON);
    leader.resign_to(id("c")).unwrap();
    lab.pass(SOON);
    assert!(second.is_leader() && !first.is_leader());
}

#[test]
fn a_successor_that_never_comes_costs_a_moment_only() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let other = lab.candidate("b").start().unwrap();
    lab.pass(SOON);
    leader.resign_to(id("nobody")).unwrap();
    lab.pass(SOON);
    assert!(!other.is_leader(), "reserved");
    lab.pass(tenure::store::RESERVATION);
    assert!(other.is_leader() || leader.is_leader());
}

#[test]
fn an_operator_can_ask_for_it() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let first = lab.candidate("b").start().unwrap();
    lab.pass(SOON);
    let second = lab.candidate("c").start().unwrap();
    lab.pass(SOON);
    assert!(lab.client.election("x").unwrap().request_handover_to("c").unwrap());
    lab.pass(SOON);
    assert!(second.is_leader() && !first.is_leader() && !leader.is_leader(), "pushed, not polled");
    assert!(lab.client.election("x").unwrap().request_handover().unwrap());
    lab.pass(SOON);
    assert!(first.is_leader());
    assert!(!lab.client.election("nobody-leads").unwrap().request_handover().unwrap());
}

#[test]
fn an_operator_is_heard_although_the_push_is_lost() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    lab.pass(SOON);
    lab.store.drop_hints(true);
    assert!(lab.client.election("x").unwrap().request_handover().unwrap());
    lab.pass(SOON);
    assert!(leader.is_leader());
    lab.pass(timing().renew_every() * 2);
    let reasons: Vec<String> = lab
        .client
        .election("x")
        .unwrap()
        .history(10)
        .unwrap()
        .into_iter()
        .map(|transition| transition.reason)
        .collect();
    assert!(reasons.contains(&"requested".to_owned()), "{reasons:?}");
}

#[test]
fn only_a_leader_can_resign() {
    let lab = Lab::new();
    let _leader = lab.leader("a");
    let follower = lab.candidate("b").start().unwrap();
    assert!(matches!(follower.resign(), Err(Error::NotLeading)));
    assert!(matches!(follower.resign_to(id("a")), Err(Error::NotLeading)));
    follower.request_resign();
    lab.settle();
    assert_eq!(lab.store.calls(Operation::Resign), 0);
}

#[test]
fn the_keenest_leads_when_several_come_at_once() {
    for _ in 0..5 {
        let lab = Lab::new();
        let start = |name, level| lab.candidate(name).priority(level).start().unwrap();
        let (reluctant, keen, keener) = (start("a", 0), start("b", 5), start("c", 9));
        lab.pass(Duration::from_secs(1));
        assert!(keener.is_leader() && !keen.is_leader() && !reluctant.is_leader());
        keener.stop();
        lab.pass(Duration::from_secs(1));
        assert!(keen.is_leader() && !reluctant.is_leader(), "the keenest stand-by is next");
    }
}

#[test]
fn a_crashed_leader_is_followed_when_its_lease_runs_out() {
    let lab = Lab::new();
    let rival = lab.rival();
    let _leader = lab.leader("a");
    let follower = rival.candidate("b").start().unwrap();
    lab.pass(SOON);
    rival.settle();
    lab.store.inject_everywhere(&tenure::testing::Fault::BlackHole);
    let mut waited = Duration::ZERO;
    while !follower.is_leader() {
        rival.pass(Duration::from_millis(50));
        waited += Duration::from_millis(50);
        assert!(waited <= timing().ttl() + Duration::from_millis(100), "{waited:?}");
    }
}

#[test]
fn an_election_that_is_forgotten_while_its_candidate_pauses_goes_on_above_its_terms() {
    let lab = Lab::new();
    let candidate = lab.leader("a");
    let term = candidate.leadership().unwrap().term();
    candidate.resign().unwrap();
    lab.settle();
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().standing_by, [], "it pauses after its resignation");
    assert_eq!(lab.client.election("x").unwrap().forget().unwrap(), Forgetting::Forgotten);
    lab.pass(4 * SOON);
    assert!(candidate.leadership().unwrap().term() > term, "terms must not fall");
}
