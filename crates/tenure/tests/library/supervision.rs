//! The thread that holds all elections breaks down: nobody leads by it, everybody is told, and it begins anew.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tenure::blocking::{Candidacy, Events};
use tenure::testing::{Fault, Operation};
use tenure::{ElectionError, EventKind, LossReason, Timing};

use crate::job_support::{MINUTE, Notes, SECOND, minutely};
use crate::support::{Lab, PATIENCE, elected, eventually, id, lying, next, next_trouble, timing};

/// Makes the driver of a lab panic, in the middle of its loop: the hint of a resignation in an election of its own breaks it.
fn break_down(lab: &Lab) {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let name = format!("elsewhere-{}", LAST.fetch_add(1, Ordering::Relaxed));
    let rival = lab.rival();
    let first = elected(rival.client.election(&name).unwrap().candidate().timing(timing()).id(id("r")));
    let waiting = lab.client.election(&name).unwrap().candidate().timing(timing()).id(id("w")).start().unwrap();
    let mut events = waiting.events();
    next(&mut events, |kind| matches!(kind, EventKind::Observed { leader: Some(_) }));
    lab.store.break_hints(1);
    first.stop();
}

fn is_panic(error: &ElectionError) -> bool {
    matches!(error, ElectionError::Panicked { .. })
}

/// Lets time pass until it leads again.
fn leads_again(lab: &Lab, candidacy: &Candidacy) -> u64 {
    eventually("the next term", || {
        lab.pass(Duration::from_secs(1));
        candidacy.is_leader()
    });
    candidacy.leadership().unwrap().term().get()
}

fn loss(events: &mut Events) -> LossReason {
    let event = next(events, |kind| matches!(kind, EventKind::Lost { .. }));
    let EventKind::Lost { reason, .. } = event.kind else { unreachable!("only a loss is of interest") };
    reason
}

/// A leader that hands on the payloads of its messages, and its events.
fn reader(lab: &Lab) -> (Candidacy, Events, mpsc::Receiver<String>) {
    let (told, heard) = mpsc::channel();
    let channel = tenure::ChannelName::new("refresh").unwrap();
    let handle = move |message: tenure::Message, _: tenure::Leadership| told.send(message.payload.to_string());
    let candidacy = elected(lab.candidate("a").on_message(channel, handle));
    let events = lab.events(&candidacy);
    (candidacy, events, heard)
}

#[test]
fn everybody_stops_leading_and_is_told_and_leads_again() {
    let lab = Lab::new();
    let elections = ["x", "y"].map(|name| elected(lab.client.election(name).unwrap().candidate().timing(timing())));
    let mut events = elections.each_ref().map(|election| lab.events(election));
    let leaderships = elections.each_ref().map(|election| election.leadership().unwrap());
    break_down(&lab);
    for (events, leadership) in events.iter_mut().zip(&leaderships) {
        assert_eq!(loss(events), LossReason::Unhealthy);
        let error = next_trouble(events, is_panic);
        assert!(error.to_string().contains("the store panicked on purpose"), "{error}");
        assert!(leadership.is_cancelled());
    }
    for (election, leadership) in elections.iter().zip(&leaderships) {
        assert!(leads_again(&lab, election) > leadership.term().get());
        assert!(leadership.is_cancelled(), "the old term stays lost");
        election.stop();
    }
}

#[test]
fn the_lease_is_not_released_before_the_work_has_ended() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut events = lab.events(&candidacy);
    let work = candidacy.leadership().unwrap().begin_work().unwrap();
    break_down(&lab);
    loss(&mut events);
    lab.settle();
    assert!(work.leadership().is_valid(), "what has begun may be finished");
    let holder = |lab: &Lab| lab.client.election("x").unwrap().observe().unwrap().lease.map(|lease| lease.leader.term);
    assert_eq!(holder(&lab), Some(work.leadership().term()));
    drop(work);
    eventually("the release", || holder(&lab).is_none());
    leads_again(&lab, &candidacy);
}

#[test]
fn a_candidate_that_was_leaving_leaves() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let work = candidacy.leadership().unwrap().begin_work().unwrap();
    candidacy.request_stop();
    lab.settle();
    break_down(&lab);
    drop(work);
    candidacy.stop();
    assert!(candidacy.elected().is_err());
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
}

#[test]
fn a_candidate_that_was_unwell_stays_unwell() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut events = lab.events(&candidacy);
    candidacy.set_health(false);
    loss(&mut events);
    break_down(&lab);
    next_trouble(&mut events, is_panic);
    lab.pass(timing().ttl() * 2);
    assert!(!candidacy.is_leader());
    candidacy.set_health(true);
    leads_again(&lab, &candidacy);
}

#[test]
fn it_survives_one_breakdown_after_another() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    for _ in 0..3 {
        let mut events = lab.events(&candidacy);
        break_down(&lab);
        loss(&mut events);
        next_trouble(&mut events, is_panic);
        leads_again(&lab, &candidacy);
    }
}

#[test]
fn messages_are_handled_after_it() {
    let lab = Lab::new();
    let (election, mut events, heard) = reader(&lab);
    break_down(&lab);
    loss(&mut events);
    leads_again(&lab, &election);
    lab.client.election("x").unwrap().send("refresh", "7").unwrap();
    assert!(heard.recv_timeout(PATIENCE).unwrap().contains('7'));
}

#[test]
fn a_stream_of_hints_of_messages_that_panics_ends_no_leadership() {
    let lab = Lab::new();
    let (candidacy, _events, heard) = reader(&lab);
    let term = candidacy.leadership().unwrap().term();
    lab.settle();
    lab.store.break_hints(1);
    lab.client.election("x").unwrap().send("refresh", "7").unwrap();
    assert!(heard.recv_timeout(PATIENCE).unwrap().contains('7'), "it is looked for again");
    lab.client.election("x").unwrap().send("refresh", "8").unwrap();
    assert!(heard.recv_timeout(PATIENCE).unwrap().contains('8'), "another stream hints of it");
    assert_eq!(candidacy.leadership().expect("it goes on leading").term(), term);
}

#[test]
fn a_call_of_the_store_that_panics_is_a_call_that_failed() {
    let lab = Lab::new();
    lab.store.inject_once(Operation::Campaign, Fault::Panic);
    let candidacy = lab.candidate("a").start().unwrap();
    let mut events = lab.events(&candidacy);
    leads_again(&lab, &candidacy);
    lab.store.inject_once(Operation::Renew, Fault::Panic);
    lab.pass(timing().renew_every() * 2);
    let error = next_trouble(&mut events, |error| matches!(error, ElectionError::Store(_)));
    assert_eq!(error.to_string(), "the store panicked: the store panicked on purpose");
    assert!(candidacy.is_leader(), "one failed renewal is survived");
    lab.store.inject_once(Operation::Observe, Fault::Panic);
    assert!(lab.client.election("x").unwrap().observe().is_err());
    assert!(lab.client.election("x").unwrap().observe().unwrap().lease.is_some());
    lab.store.inject_once(Operation::Resign, Fault::Panic);
    candidacy.request_resign();
    lab.pass(Duration::from_secs(1));
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None, "the second attempt was heard");
}

#[test]
fn a_task_that_panics_is_told_of_and_begins_anew() {
    let lab = Lab::new();
    let (_election, mut events, heard) = reader(&lab);
    lab.store.inject_once(Operation::Receive, Fault::Panic);
    lab.client.election("x").unwrap().send("refresh", "7").unwrap();
    let error = next_trouble(&mut events, is_panic);
    assert!(error.to_string().starts_with("the task that fetches messages panicked"), "{error}");
    eventually("the message", || {
        lab.pass(Duration::from_secs(1));
        heard.try_recv().is_ok_and(|payload| payload.contains('7'))
    });
    eventually("its acknowledgement", || lying(&lab, tenure::MessageState::Pending).is_empty());
}

#[test]
fn a_scheduler_that_begins_anew_still_has_its_jobs() {
    let (lab, notes) = (Lab::new(), Notes::default());
    let candidacy = elected(lab.candidate("a").job(minutely(), notes.handler()));
    let mut events = lab.events(&candidacy);
    lab.pass(MINUTE);
    notes.wait_for(1);
    lab.store.inject_once(Operation::Claim, Fault::Panic);
    lab.pass(MINUTE);
    let error = next_trouble(&mut events, is_panic);
    assert!(error.to_string().starts_with("the task that runs jobs panicked"), "{error}");
    eventually("another run", || {
        lab.pass(SECOND * 10);
        notes.ticks().len() > 1
    });
}

#[test]
fn a_waker_that_panics_ends_nothing() {
    struct DropBomb;
    impl Wake for DropBomb {
        fn wake(self: Arc<Self>) {
            panic!("woken on purpose");
        }
    }
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let term = candidacy.leadership().unwrap().term();
    let other = lab.client.election("x").unwrap().candidate().timing(Timing::default()).start().unwrap();
    let (mut events, waker) = (lab.events(&candidacy), Waker::from(Arc::new(DropBomb)));
    let mut waiting = Box::pin(other.as_ref().elected());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    while let Poll::Ready(Some(_)) = Box::pin(events.as_mut().next()).as_mut().poll(&mut Context::from_waker(&waker)) {}
    lab.pass(timing().renew_every() * 2);
    assert_eq!(candidacy.leadership().expect("it goes on leading").term(), term);
    other.stop();
    assert_eq!(candidacy.leadership().expect("it goes on leading").term(), term);
}
