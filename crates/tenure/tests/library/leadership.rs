//! The truth about leadership at every instant, whatever the driver is doing.

use std::time::Duration;

use tenure::EventKind;
use tenure::testing::{Fault, Operation};

use crate::support::{HeldUp, Lab, PATIENCE, block_on, next, timing};

const TICK: Duration = Duration::from_nanos(1);

#[test]
fn it_ends_by_the_clock_although_nothing_of_the_driver_runs() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut events = lab.events(&candidacy);
    let elected = next(&mut events, |kind| matches!(kind, EventKind::Elected { .. }));
    let EventKind::Elected { trust, .. } = elected.kind else { unreachable!() };
    let leadership = candidacy.leadership().unwrap();
    lab.store.inject_everywhere(&Fault::BlackHole);
    let _held_up = HeldUp::new(&lab.client);

    lab.hands.advance(trust.stop_at.saturating_since(lab.hands.now()) - TICK);
    assert!(candidacy.is_leader() && candidacy.leadership().is_some());
    assert!(leadership.is_valid() && !leadership.is_cancelled());
    assert!(candidacy.run_if_leader(|_| ()).is_some());

    lab.hands.advance(TICK);
    assert!(!candidacy.is_leader() && candidacy.leadership().is_none());
    assert!(leadership.is_cancelled() && leadership.is_valid(), "what runs may finish");
    assert!(leadership.begin_work().is_none(), "nothing may begin");
    assert!(candidacy.run_if_leader(|_| ()).is_none());
    assert_eq!(leadership.remaining(), trust.until.saturating_since(trust.stop_at));

    lab.hands.advance(trust.until.saturating_since(trust.stop_at) - TICK);
    assert!(leadership.is_valid());
    lab.hands.advance(TICK);
    assert!(!leadership.is_valid());
    assert_eq!(leadership.remaining(), Duration::ZERO);
    assert_eq!(leadership.trusted_until(), trust.until);
}

#[test]
fn it_counts_from_the_sending_of_the_request_that_was_answered() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let leadership = candidacy.leadership().unwrap();
    lab.settle();
    lab.pass(Duration::from_secs(1));
    lab.store.forget_counts();
    lab.store.inject_once(Operation::Renew, Fault::HoldReply);
    let before = leadership.trusted_until();
    while lab.store.calls(Operation::Renew) == 0 {
        lab.pass(Duration::from_millis(50));
    }
    let sent_by = lab.hands.now();
    lab.pass(timing().attempt_timeout() - Duration::from_millis(200));
    assert_eq!(leadership.trusted_until(), before);
    lab.store.release();
    lab.settle();
    assert!(leadership.trusted_until() > before, "an answer in time counts");
    assert!(leadership.trusted_until() <= sent_by + timing().hold(), "from when it was asked for");
}

#[test]
fn a_late_answer_is_worth_nothing() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let leadership = candidacy.leadership().unwrap();
    lab.settle();
    lab.pass(Duration::from_secs(1));
    let before = leadership.trusted_until();
    lab.store.inject(Operation::Renew, Fault::DelayReply(timing().attempt_timeout() + TICK));
    lab.pass(timing().renew_every() * 3);
    assert_eq!(leadership.trusted_until(), before);
    lab.pass(before.saturating_since(lab.hands.now()));
    assert!(!leadership.is_valid() && leadership.is_cancelled());
}

#[test]
fn an_old_term_does_not_revive_with_the_next() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let first = candidacy.leadership().unwrap();
    candidacy.resign().unwrap();
    lab.pass(Duration::from_secs(5));
    let second = candidacy.leadership().expect("alone, it leads again");
    assert!(second.term() > first.term());
    assert!(first.is_cancelled() && !first.is_valid() && first.begin_work().is_none());
    assert!(!second.is_cancelled() && second.is_valid());
    block_on(first.cancelled());
    block_on(first.overdue());
    assert!(!second.wait_cancelled_for(Duration::ZERO));
}

#[test]
fn nobody_is_told_of_a_leadership_that_is_over() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let term = candidacy.leadership().unwrap().term();
    let held_up = HeldUp::new(&lab.client);
    lab.hands.advance(timing().ttl());
    let mut waiting = Box::pin(candidacy.as_ref().elected());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending(), "the driver cannot have noticed, but the clock has");
    assert!(candidacy.elected_timeout(Duration::from_millis(1)).unwrap().is_none());
    drop((waiting, held_up));
    let leadership = candidacy.elected_timeout(PATIENCE).unwrap().expect("it is elected again");
    assert!(leadership.is_valid() && leadership.term() > term);
}

#[test]
fn a_fence_is_of_the_election_the_namespace_and_the_term_that_are_led() {
    let lab = Lab::new();
    let shop = lab.client.with_namespace("shop").unwrap();
    let terms = [1, 2].map(|term| {
        let candidacy = shop.election("payouts").unwrap().candidate().timing(timing()).start().unwrap();
        let leadership = candidacy.elected().unwrap();
        let fence = leadership.postgres_fence();
        assert_eq!((fence.election(), fence.namespace(), fence.term()), ("payouts", "shop", term));
        let guarded = leadership.redis_fence("report").guard(&[]);
        candidacy.stop();
        String::from_utf8(guarded.get_packed_command()).unwrap()
    });
    // Behind the script: the number of keys, the two keys, the term.
    for (written, term) in terms.iter().zip(["1", "2"]) {
        let words: Vec<&str> = written.lines().collect();
        assert!(words.ends_with(&["{report}:fence", "$6", "report", "$1", term]), "{written}");
    }
}

#[test]
fn a_token_is_cancelled_with_its_term_and_no_sooner() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let leadership = candidacy.leadership().unwrap();
    let (token, other) = (leadership.cancellation_token(), leadership.cancellation_token());
    other.cancel();
    assert!(!token.is_cancelled() && candidacy.is_leader(), "whoever cancels a token cancels for itself");
    lab.pass(timing().ttl());
    assert!(!token.is_cancelled(), "it is renewed");
    candidacy.resign().unwrap();
    assert!(token.is_cancelled());
    assert!(leadership.cancellation_token().is_cancelled(), "one that is made later, too");
    lab.pass(timing().ttl());
    assert!(!candidacy.elected().unwrap().cancellation_token().is_cancelled(), "the next term has its own");
}
