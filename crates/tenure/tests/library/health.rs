//! An application that hangs must not keep its lease.

use std::time::Duration;

use tenure::testing::Operation;
use tenure::{CandidacyState, EventKind, LossReason};

use crate::support::{Lab, elected, next, timing};

const GATE: Duration = Duration::from_secs(10);

#[test]
fn a_gate_that_is_not_fed_ends_leadership_and_feeding_begins_it_anew() {
    let lab = Lab::new();
    let candidacy = elected(lab.candidate("a").require_heartbeat(GATE));
    let mut events = lab.events(&candidacy);
    lab.pass(GATE - Duration::from_millis(100));
    assert!(candidacy.is_leader());
    lab.pass(Duration::from_millis(100));
    let lost = next(&mut events, |kind| matches!(kind, EventKind::Lost { .. }));
    assert!(matches!(lost.kind, EventKind::Lost { reason: LossReason::Unhealthy, .. }));
    lab.pass(timing().ttl() * 2);
    assert!(!candidacy.is_leader(), "unwell, it does not campaign");
    assert_eq!(candidacy.state(), CandidacyState::Unhealthy);
    candidacy.heartbeat();
    lab.pass(Duration::from_secs(2));
    assert!(candidacy.is_leader());
}

#[test]
fn a_gate_that_is_fed_stays_open() {
    let lab = Lab::new();
    let candidacy = elected(lab.candidate("a").require_heartbeat(GATE));
    let leadership = candidacy.leadership().unwrap();
    for _ in 0..20 {
        lab.pass(GATE * 9 / 10);
        candidacy.heartbeat();
        lab.settle();
    }
    assert!(!leadership.is_cancelled());
}

#[test]
fn a_gate_that_is_fed_all_the_time_stays_open_until_it_is_not() {
    let lab = Lab::new();
    let candidacy = elected(lab.candidate("a").require_heartbeat(GATE));
    for _ in 0..400 {
        candidacy.heartbeat();
        lab.pass(Duration::from_millis(100));
    }
    assert!(candidacy.is_leader());
    lab.pass(GATE);
    assert!(!candidacy.is_leader());
}

#[test]
fn unwell_it_resigns_and_waits_to_be_well_again() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let other = lab.candidate("b").start().unwrap();
    candidacy.set_health(false);
    lab.pass(Duration::from_secs(1));
    assert!(other.is_leader(), "handed over, not waited out");
    other.stop();
    lab.pass(timing().ttl() * 2);
    assert!(!candidacy.is_leader());
    candidacy.set_health(true);
    lab.pass(Duration::from_secs(2));
    assert!(candidacy.is_leader());
}

#[test]
fn feeding_without_a_gate_undoes_an_earlier_no() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    candidacy.set_health(false);
    lab.pass(timing().ttl());
    assert!(!candidacy.is_leader());
    candidacy.heartbeat();
    lab.pass(Duration::from_secs(2));
    assert!(candidacy.is_leader());
}

/// What is called on every turn of a loop must cost the driver nothing: it has a lease to keep.
#[test]
fn feeding_in_a_tight_loop_does_not_flood_the_driver() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let held_up = crate::support::HeldUp::new(&lab.client);
    for _ in 0..3_000_000 {
        candidacy.heartbeat();
    }
    drop(held_up);
    let before = std::time::Instant::now();
    lab.settle();
    assert!(before.elapsed() < Duration::from_millis(500), "{:?}", before.elapsed());
    assert_eq!(lab.store.calls(Operation::Resign), 0);
}
