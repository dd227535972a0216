//! Stores that fail, fall silent or lose replies.

use std::time::Duration;

use tenure::store::{Change, StoreError, StoreErrorKind};
use tenure::testing::{Fault, Operation};
use tenure::{ElectionError, EventKind, LossReason, Timing};

use crate::support::{Lab, id, next, timing};

const KINDS: [StoreErrorKind; 10] = [
    StoreErrorKind::Unavailable,
    StoreErrorKind::ReadOnly,
    StoreErrorKind::Full,
    StoreErrorKind::Schema,
    StoreErrorKind::Corrupt,
    StoreErrorKind::Denied,
    StoreErrorKind::Configuration,
    StoreErrorKind::Missing,
    StoreErrorKind::TimedOut,
    StoreErrorKind::Other,
];

fn elections_held(lab: &Lab) -> usize {
    let history = lab.client.election("x").unwrap().history(100).unwrap();
    history.iter().filter(|transition| transition.change == Change::Elected).count()
}

#[test]
fn a_lost_grant_is_found_again_by_the_next_attempt() {
    for fault in [Fault::LoseReply, Fault::SwallowReply, Fault::Duplicate] {
        let lab = Lab::new();
        lab.store.inject_once(Operation::Campaign, fault.clone());
        let candidacy = lab.candidate("a").start().unwrap();
        lab.pass(timing().attempt_timeout() + timing().renew_every() / 4);
        let leadership = candidacy.leadership().unwrap_or_else(|| panic!("{fault:?} cost more than an attempt"));
        assert_eq!((leadership.term().get(), elections_held(&lab)), (1, 1), "{fault:?}: the same term");
    }
}

#[test]
fn an_outage_as_long_as_predicted_keeps_the_term() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let leadership = candidacy.leadership().unwrap();
    lab.pass(Duration::from_secs(20));
    for fault in [Fault::BlackHole, Fault::LoseRequest, Fault::LoseReply, Fault::SwallowReply] {
        lab.store.inject_everywhere(&fault);
        lab.pass(timing().predict(1).outage_survived);
        lab.store.heal();
        lab.pass(timing().renew_every() * 2);
        assert!(!leadership.is_cancelled() && leadership.is_valid() && candidacy.is_leader(), "{fault:?}");
    }
}

#[test]
fn after_a_longer_outage_it_comes_back_under_a_new_term() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let before = candidacy.leadership().unwrap();
    let mut events = lab.events(&candidacy);
    lab.store.inject_everywhere(&Fault::BlackHole);
    lab.pass(timing().ttl() * 2);
    assert!(before.is_cancelled());
    let lost = next(&mut events, |kind| matches!(kind, EventKind::Lost { .. }));
    assert!(matches!(lost.kind, EventKind::Lost { reason: LossReason::Expired, .. }), "{lost:?}");
    lab.store.heal();
    lab.pass(timing().attempt_timeout() + timing().renew_every() * 2);
    assert!(candidacy.leadership().expect("it comes back").term() > before.term());
}

#[test]
fn every_kind_of_error_is_reported_and_survived() {
    let lab = Lab::new();
    let candidacy = lab.candidate("a").start().unwrap();
    let mut events = lab.events(&candidacy);
    let errors = KINDS.into_iter().flat_map(|kind| {
        [StoreError::refused(kind, "no"), StoreError::not_sent(kind, "not now"), StoreError::unknown(kind, "who knows")]
    });
    lab.pass(Duration::from_secs(1));
    for error in errors {
        lab.store.inject_once(Operation::Renew, Fault::Fail(error.clone()));
        lab.pass(timing().renew_every() * 2);
        let told = next(&mut events, |kind| matches!(kind, EventKind::Error { .. }));
        let EventKind::Error { error: ElectionError::Store(told) } = told.kind else { panic!("{told:?}") };
        assert_eq!((told.kind(), told.write_outcome()), (error.kind(), error.write_outcome()));
        assert_eq!(candidacy.leadership().expect("one failure is survived").term().get(), 1);
    }
}

#[test]
fn a_candidate_campaigns_on_through_every_kind_of_error() {
    let lab = Lab::new();
    for kind in KINDS {
        lab.store.inject_once(Operation::Campaign, Fault::Fail(StoreError::refused(kind, "no")));
    }
    lab.store.inject_once(Operation::Campaign, Fault::Fail(StoreError::replaced("another file")));
    let candidacy = lab.candidate("a").start().unwrap();
    lab.pass(timing().renew_every() * 11);
    assert!(candidacy.is_leader());
}

#[test]
fn a_store_that_was_replaced_ends_the_term() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut events = lab.events(&candidacy);
    lab.store.inject_once(Operation::Renew, Fault::Fail(StoreError::replaced("another file")));
    lab.pass(timing().renew_every() * 2);
    let lost = next(&mut events, |kind| matches!(kind, EventKind::Lost { .. }));
    assert!(matches!(lost.kind, EventKind::Lost { reason: LossReason::Regressed, .. }), "{lost:?}");
}

/// The store hangs in a campaign, and another candidacy, whose own campaign has to wait for that, is stopped meanwhile.
#[test]
fn a_request_that_was_given_up_is_never_sent() {
    let lab = Lab::new();
    let slow = Timing::from_ttl(Duration::from_secs(300)).unwrap();
    lab.store.inject_once(Operation::Campaign, Fault::BlackHole);
    let _first = lab.client.election("other").unwrap().candidate().timing(slow).start().unwrap();
    lab.settle();
    let candidacy = lab.candidate("a").start().unwrap();
    lab.settle();
    candidacy.request_stop();
    lab.pass(slow.attempt_timeout() + Duration::from_secs(1));
    assert!(candidacy.elected_timeout(Duration::ZERO).is_err(), "it has left");
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None, "and left nothing behind");
}

#[test]
fn patience_with_one_election_costs_no_other_its_lease() {
    let lab = Lab::new();
    let slow = Timing::from_ttl(Duration::from_secs(600)).unwrap();
    let fast = Timing::from_ttl(Duration::from_secs(15)).unwrap();
    let patient = lab.client.election("patient").unwrap().candidate().timing(slow).id(id("p")).start().unwrap();
    let hasty = lab.client.election("hasty").unwrap().candidate().timing(fast).id(id("h")).start().unwrap();
    lab.pass(Duration::from_secs(1));
    let (one, other) = (patient.leadership().unwrap(), hasty.leadership().unwrap());
    // From here on the patient one joins the renewals of the hasty one, and the batch of both gets no answer.
    let halfway = one.trusted_until() - slow.hold() + slow.renew_every() / 2;
    lab.pass(halfway.saturating_since(lab.hands.now()));
    lab.store.forget_counts();
    while lab.store.requests(Operation::Renew) <= lab.store.calls(Operation::Renew) {
        lab.store.clear(Operation::Renew);
        lab.store.inject_once(Operation::Renew, Fault::SwallowReply);
        lab.pass(Duration::from_millis(50));
    }
    lab.pass(fast.ttl() * 2);
    assert!(!one.is_cancelled() && !other.is_cancelled());
}
