//! What an application is told, in which order, and why.

use std::time::Duration;

use tenure::blocking::Events;
use tenure::testing::{Fault, Operation};
use tenure::{Anomaly, CandidateId, ElectionError, ElectionName, EventKind, LossReason, Namespace, Store};

use crate::support::{Lab, block_on, elected, id, next, timing};

fn lost(events: &mut Events) -> LossReason {
    match next(events, |kind| matches!(kind, EventKind::Lost { .. })).kind {
        EventKind::Lost { reason, .. } => reason,
        _ => unreachable!("it was skipped to"),
    }
}

#[test]
fn elected_and_lost_alternate_through_any_fault() {
    let lab = Lab::new();
    let candidacy = lab.candidate("a").start().unwrap();
    let events = lab.events(&candidacy);
    for round in 0..20 {
        match round % 5 {
            0 => lab.store.inject_everywhere(&Fault::BlackHole),
            1 => lab.store.inject_everywhere(&Fault::LoseReply),
            2 => candidacy.request_resign(),
            3 => candidacy.set_health(false),
            _ => lab.store.inject_everywhere(&Fault::Duplicate),
        }
        lab.pass(timing().ttl());
        lab.store.heal();
        candidacy.set_health(true);
        lab.pass(timing().renew_every() * 2);
    }
    candidacy.stop();
    let (mut leading, mut changes) = (None, 0);
    for event in events {
        match event.kind {
            EventKind::Elected { term, .. } => {
                assert_eq!(leading.replace(term), None);
                changes += 1;
            }
            EventKind::Renewed { term, .. } => assert_eq!(leading, Some(term)),
            EventKind::Lost { term, .. } => assert_eq!(leading.take(), Some(term)),
            EventKind::Observed { .. } | EventKind::Error { .. } => {}
            EventKind::Stopped => assert_eq!(leading, None),
            other => panic!("{other:?}"),
        }
    }
    assert!(changes > 10, "{changes} elections only");
}

#[test]
fn reasons_of_a_loss() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut events = lab.events(&candidacy);
    let again = || {
        lab.store.heal();
        lab.pass(timing().attempt_timeout() + timing().renew_every());
        assert!(candidacy.is_leader());
    };
    candidacy.request_resign();
    assert_eq!(lost(&mut events), LossReason::Resigned);
    again();
    candidacy.set_health(false);
    assert_eq!(lost(&mut events), LossReason::Unhealthy);
    candidacy.set_health(true);
    again();
    assert!(lab.client.election("x").unwrap().request_handover().unwrap());
    lab.pass(timing().renew_every() * 2);
    assert_eq!(lost(&mut events), LossReason::Requested);
    again();
    lab.store.inject_everywhere(&Fault::BlackHole);
    lab.pass(timing().ttl());
    assert_eq!(lost(&mut events), LossReason::Expired);
    again();
    candidacy.stop();
    assert_eq!(lost(&mut events), LossReason::Stopped);
}

/// A leader that was paused for longer than its ttl finds somebody else in its place.
#[test]
fn superseded_by_a_rival() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let term = candidacy.leadership().unwrap().term();
    let mut events = lab.events(&candidacy);
    // The store forgets the lease, as an operator would make it, and grants it to somebody else.
    let key = tenure::store::ElectionKey { namespace: Namespace::default(), name: ElectionName::new("x").unwrap() };
    let rival = lab.rival();
    lab.store.inject_once(Operation::Renew, Fault::HoldRequest);
    lab.pass(timing().renew_every() * 2);
    let _other = rival.candidate("b").start().unwrap();
    let observed = block_on(lab.memory.observe(&[key])).pop().unwrap().unwrap();
    assert_eq!(observed.last_term, Some(term));
    lab.store.inject_everywhere(&Fault::BlackHole);
    lab.pass(timing().ttl() * 2);
    assert_eq!(lost(&mut events), LossReason::Expired, "the clock is faster than the news");
    lab.store.heal();
    lab.pass(timing().renew_every() * 2);
    let seen = next(&mut events, |kind| matches!(kind, EventKind::Observed { leader: Some(_) }));
    let EventKind::Observed { leader: Some(leader) } = seen.kind else { unreachable!() };
    assert_eq!(leader.candidate, id("b"));
    assert!(leader.term > term);
}

#[test]
fn a_late_reader_first_hears_where_things_stand() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let follower = lab.candidate("b").start().unwrap();
    lab.settle();
    let first = leader.events().next().unwrap();
    assert!(matches!(first.kind, EventKind::Elected { .. }), "{first:?}");
    let first = follower.events().next().unwrap();
    let EventKind::Observed { leader: Some(seen) } = first.kind else { panic!("{first:?}") };
    assert_eq!(seen.candidate, id("a"));
}

#[test]
fn a_slow_reader_is_told_how_much_it_missed() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut events = lab.events(&candidacy);
    lab.store.inject(Operation::Renew, Fault::Duplicate);
    lab.hands.advance(Duration::from_millis(100));
    while lab.store.calls(Operation::Renew) < 1_200 {
        lab.hands.advance(timing().renew_every());
        lab.settle();
    }
    let heard: Vec<EventKind> = (0..1_000).map(|_| events.next().unwrap().kind).collect();
    assert!(!heard.iter().any(|kind| matches!(kind, EventKind::Missed { .. })));
    lab.pass(timing().renew_every() * 2);
    let EventKind::Missed { count } = events.next().unwrap().kind else { panic!("nothing was missed") };
    assert!(count >= 150, "{count}");
    assert!(matches!(events.next().unwrap().kind, EventKind::Renewed { .. }), "and then it goes on");
}

#[test]
fn a_slow_reader_is_told_that_it_missed_the_end() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let (events, all) = (lab.events(&candidacy), lab.events(&candidacy));
    let fast = std::thread::spawn(move || all.count() as u64);
    while lab.store.calls(Operation::Renew) < 1_100 {
        lab.hands.advance(timing().renew_every());
        lab.settle();
    }
    candidacy.stop();
    let (mut heard, mut missed) = (0, 0);
    for event in events {
        match event.kind {
            EventKind::Missed { count } => missed += count,
            _ => heard += 1,
        }
    }
    assert!(missed > 0);
    assert_eq!(heard + missed, fast.join().unwrap());
}

#[test]
fn two_candidates_with_one_id_are_warned_about() {
    let lab = Lab::new();
    let _first = lab.leader("twin");
    let rival = lab.rival();
    // From the beginning: the first answer of the store tells of the other one.
    let (second, mut events) = rival.candidate("twin").start_with_events().unwrap();
    let told = next(&mut events, |kind| matches!(kind, EventKind::Error { .. }));
    let error = ElectionError::Anomaly(Anomaly::DuplicateId { candidate: CandidateId::new("twin").unwrap() });
    assert_eq!(told.kind, EventKind::Error { error });
    assert!(!second.is_leader());
}

#[test]
fn many_readers_hear_the_same() {
    let lab = Lab::new();
    let candidacy = elected(lab.candidate("a"));
    let mut readers: Vec<Events> = (0..5).map(|_| lab.events(&candidacy)).collect();
    drop(readers.remove(0));
    lab.pass(timing().renew_every() * 2);
    candidacy.stop();
    let heard = readers.iter_mut().map(|events| {
        let mut kinds = Vec::new();
        for event in events.by_ref() {
            kinds.push(event.kind);
        }
        kinds
    });
    let heard: Vec<_> = heard.collect();
    assert_eq!(heard[0].last(), Some(&EventKind::Stopped));
    assert!(heard.iter().all(|kinds| *kinds == heard[0]));
}
