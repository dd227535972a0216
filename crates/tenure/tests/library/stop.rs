//! Leaving: always in a bounded time, and never with anything left behind.

use std::time::Duration;

use tenure::blocking::Candidacy;
use tenure::testing::{Fault, Operation};
use tenure::{EventKind, LossReason};

use crate::support::{Lab, next, timing};

/// The longest that leaving may take when no work has to be waited for.
fn bound() -> Duration {
    timing().grace() + timing().reaction() + timing().attempt_timeout() * 3
}

#[track_caller]
fn stops(lab: &Lab, candidacy: &Candidacy) {
    candidacy.request_stop();
    lab.pass(bound());
    assert!(candidacy.elected_timeout(Duration::ZERO).is_err(), "it still stands");
    assert!(!candidacy.is_leader());
    // Now it returns at once, however often it is called.
    candidacy.stop();
    candidacy.stop();
}

#[test]
fn of_a_leader_whose_store_hangs() {
    for fault in [Fault::BlackHole, Fault::SwallowReply, Fault::HoldRequest, Fault::LoseReply] {
        let lab = Lab::new();
        let candidacy = lab.leader("a");
        lab.store.inject_everywhere(&fault);
        stops(&lab, &candidacy);
    }
}

#[test]
fn of_a_leader_in_the_middle_of_a_renewal_that_hangs() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    lab.store.inject_everywhere(&Fault::BlackHole);
    lab.store.forget_counts();
    while lab.store.calls(Operation::Renew) == 0 {
        lab.pass(Duration::from_millis(50));
    }
    stops(&lab, &candidacy);
}

#[test]
fn of_a_follower_whose_store_hangs() {
    let lab = Lab::new();
    let rival = lab.rival();
    let _leader = lab.leader("a");
    let follower = rival.candidate("b").start().unwrap();
    rival.settle();
    rival.store.inject_everywhere(&Fault::BlackHole);
    stops(&rival, &follower);
}

#[test]
fn of_a_candidate_whose_first_campaign_hangs() {
    for fault in [Fault::BlackHole, Fault::SwallowReply, Fault::HoldRequest] {
        let lab = Lab::new();
        lab.store.inject_everywhere(&fault);
        let candidacy = lab.candidate("a").start().unwrap();
        lab.settle();
        stops(&lab, &candidacy);
    }
}

#[test]
fn of_a_candidate_whose_grant_is_under_way_releases_it() {
    let lab = Lab::new();
    lab.store.inject_once(Operation::Campaign, Fault::HoldReply);
    let candidacy = lab.candidate("a").start().unwrap();
    lab.settle();
    candidacy.request_stop();
    lab.settle();
    lab.store.release();
    candidacy.stop();
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
}

#[test]
fn of_a_leader_is_told_and_releases_the_lease() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut events = lab.events(&candidacy);
    candidacy.stop();
    let lost = next(&mut events, |kind| matches!(kind, EventKind::Lost { .. }));
    assert!(matches!(lost.kind, EventKind::Lost { reason: LossReason::Stopped, .. }));
    assert_eq!(events.next().map(|event| event.kind), Some(EventKind::Stopped));
    assert_eq!(events.next(), None);
    assert_eq!(candidacy.events().next(), None, "nothing follows");
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
    let history = lab.client.election("x").unwrap().history(1).unwrap();
    assert_eq!(history[0].reason, "stopped");
}

#[test]
fn dropping_an_election_releases_the_lease() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let leadership = candidacy.leadership().unwrap();
    drop(candidacy);
    leadership.wait_cancelled();
    lab.settle();
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
    assert!(!leadership.is_valid());
}

#[test]
fn dropping_an_election_waits_for_its_work() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let work = candidacy.leadership().unwrap().begin_work().unwrap();
    drop(candidacy);
    lab.settle();
    assert!(work.leadership().is_cancelled());
    assert!(lab.client.election("x").unwrap().observe().unwrap().lease.is_some());
    drop(work);
    lab.settle();
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
}
