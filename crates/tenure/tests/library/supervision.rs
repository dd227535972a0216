//! The thread that holds all elections breaks down: nobody leads by it, everybody is told, and it begins anew.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tenure::testing::{Fault, Operation};
use tenure::{Candidacy, ElectionError, EventKind, Events, LossReason, Timing};

use crate::job_support::{MINUTE, Notes, SECOND, minutely};
use crate::support::{Lab, PATIENCE, block_on, elected, eventually, id, lying, next, next_trouble, timing};

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
    first.stop_blocking();
}

fn is_panic(error: &ElectionError) -> bool {
    matches!(error, ElectionError::Panicked { .. })
}

/// Lets time pass until it leads again.
fn leads_again(lab: &Lab, election: &Candidacy) -> u64 {
    eventually("the next term", || {
        lab.pass(Duration::from_secs(1));
        election.is_leader()
    });
    election.leadership().unwrap().term().get()
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
    let handle = move |(message, _): (tenure::Message, _)| told.send(message.payload.to_string());
    let election = elected(lab.candidate("a").on_message(channel, handle));
    let events = lab.events(&election);
    (election, events, heard)
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
        election.stop_blocking();
    }
}

#[test]
fn the_lease_is_not_released_before_the_work_has_ended() {
    let lab = Lab::new();
    let election = lab.leader("a");
    let mut events = lab.events(&election);
    let work = election.leadership().unwrap().begin_work().unwrap();
    break_down(&lab);
    loss(&mut events);
    lab.settle();
    assert!(work.leadership().is_valid(), "what has begun may be finished");
    let holder =
        |lab: &Lab| block_on(lab.client.election("x").unwrap().observe()).unwrap().lease.map(|lease| lease.leader.term);
    assert_eq!(holder(&lab), Some(work.leadership().term()));
    drop(work);
    eventually("the release", || holder(&lab).is_none());
    leads_again(&lab, &election);
}

#[test]
fn a_candidate_that_was_leaving_leaves() {
    let lab = Lab::new();
    let election = lab.leader("a");
    let work = election.leadership().unwrap().begin_work().unwrap();
    election.request_stop();
    lab.settle();
    break_down(&lab);
    drop(work);
    election.stop_blocking();
    assert!(election.wait_elected().is_err());
    assert_eq!(block_on(lab.client.election("x").unwrap().observe()).unwrap().lease, None);
}

#[test]
fn a_candidate_that_was_unwell_stays_unwell() {
    let lab = Lab::new();
    let election = lab.leader("a");
    let mut events = lab.events(&election);
    election.set_health(false);
    loss(&mut events);
    break_down(&lab);
    next_trouble(&mut events, is_panic);
    lab.pass(timing().ttl() * 2);
    assert!(!election.is_leader());
    election.set_health(true);
    leads_again(&lab, &election);
}

#[test]
fn it_survives_one_breakdown_after_another() {
    let lab = Lab::new();
    let election = lab.leader("a");
    for _ in 0..3 {
        let mut events = lab.events(&election);
        break_down(&lab);
        loss(&mut events);
        next_trouble(&mut events, is_panic);
        leads_again(&lab, &election);
    }
}

#[test]
fn messages_are_handled_after_it() {
    let lab = Lab::new();
    let (election, mut events, heard) = reader(&lab);
    break_down(&lab);
    loss(&mut events);
    leads_again(&lab, &election);
    lab.client.election("x").unwrap().send_blocking("refresh", "7").unwrap();
    assert!(heard.recv_timeout(PATIENCE).unwrap().contains('7'));
}

#[test]
fn a_call_of_the_store_that_panics_is_a_call_that_failed() {
    let lab = Lab::new();
    lab.store.inject_once(Operation::Campaign, Fault::Panic);
    let election = lab.candidate("a").start().unwrap();
    let mut events = lab.events(&election);
    leads_again(&lab, &election);
    lab.store.inject_once(Operation::Renew, Fault::Panic);
    lab.pass(timing().renew_every() * 2);
    let error = next_trouble(&mut events, |error| matches!(error, ElectionError::Store(_)));
    assert_eq!(error.to_string(), "the store panicked: the store panicked on purpose");
    assert!(election.is_leader(), "one failed renewal is survived");
    lab.store.inject_once(Operation::Observe, Fault::Panic);
    assert!(block_on(lab.client.election("x").unwrap().observe()).is_err());
    assert!(block_on(lab.client.election("x").unwrap().observe()).unwrap().lease.is_some());
    lab.store.inject_once(Operation::Resign, Fault::Panic);
    election.request_resign();
    lab.pass(Duration::from_secs(1));
    assert_eq!(
        block_on(lab.client.election("x").unwrap().observe()).unwrap().lease,
        None,
        "the second attempt was heard"
    );
}

#[test]
fn a_task_that_panics_is_told_of_and_begins_anew() {
    let lab = Lab::new();
    let (_election, mut events, heard) = reader(&lab);
    lab.store.inject_once(Operation::Receive, Fault::Panic);
    lab.client.election("x").unwrap().send_blocking("refresh", "7").unwrap();
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
    let election = elected(lab.candidate("a").job(minutely(), notes.handler()));
    let mut events = lab.events(&election);
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
    let election = lab.leader("a");
    let term = election.leadership().unwrap().term();
    let other = lab.client.election("x").unwrap().candidate().timing(Timing::default()).start().unwrap();
    let (mut events, waker) = (lab.events(&election), Waker::from(Arc::new(DropBomb)));
    let mut waiting = Box::pin(other.elected());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    while let Poll::Ready(Some(_)) = Box::pin(events.next()).as_mut().poll(&mut Context::from_waker(&waker)) {}
    lab.pass(timing().renew_every() * 2);
    assert_eq!(election.leadership().expect("it goes on leading").term(), term);
    other.stop_blocking();
    assert_eq!(election.leadership().expect("it goes on leading").term(), term);
}
