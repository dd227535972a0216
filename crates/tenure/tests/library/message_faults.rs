//! Messages when things go wrong: handled at least once, in order, and without a storm of calls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::blocking::Client;
use tenure::store::{StoreError, StoreErrorKind};
use tenure::testing::{Fault, Operation, VirtualClock};
use tenure::{Clock, ElectionError, MemoryStore, Message, MessageState};

use crate::support::{Lab, eventually, lying, next_trouble, timing};

#[test]
fn what_a_crashed_leader_did_not_settle_goes_to_the_next() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut channel = candidacy.channel("refresh").unwrap();
    let rival = lab.rival();
    let next = rival.candidate("b").start().unwrap();
    let mut next_channel = next.channel("refresh").unwrap();
    let ids = [1, 2].map(|number| rival.client.election("x").unwrap().send("refresh", &number).unwrap());
    channel.next().unwrap().ack();
    eventually("the first to be settled", || lying(&rival, MessageState::Pending) == ["2"]);
    let held = channel.next().unwrap();
    assert_eq!(held.message().id, ids[1]);

    lab.store.inject_everywhere(&Fault::BlackHole);
    lab.pass(timing().ttl() * 2);
    let delivery = next_channel.next().unwrap();
    assert_eq!((delivery.message().id, delivery.message().attempts), (ids[1], 0));
    assert!(delivery.term() > held.term());
    assert!(held.leadership().is_cancelled());

    // Whatever the old leader says now, it says too late.
    lab.store.heal();
    held.ack();
    lab.pass(timing().attempt_timeout());
    assert_eq!(lying(&rival, MessageState::Pending), ["2"]);
    delivery.ack();
    eventually("the second to be settled", || lying(&rival, MessageState::Pending).is_empty());
}

#[test]
fn a_delivery_that_is_dropped_is_a_failed_attempt() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut channel = candidacy.channel("refresh").unwrap();
    lab.client.election("x").unwrap().send("refresh", &1).unwrap();
    drop(channel.next().unwrap());
    let first = || lab.client.election("x").unwrap().messages(MessageState::Pending, 1).unwrap().remove(0);
    eventually("the attempt to be written down", || first().attempts == 1);
    assert!(first().last_error.unwrap().contains("dropped"));
    lab.pass(Duration::from_secs(1));
    let again = channel.next().unwrap();
    assert_eq!(again.message().attempts, 1);
    again.nack("no such table");
    eventually("the reason to be written down", || first().last_error.as_deref() == Some("no such table"));
}

#[test]
fn a_settlement_whose_reply_was_lost_is_repeated_and_counts_once() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut events = lab.events(&candidacy);
    let mut channel = candidacy.channel("refresh").unwrap();
    lab.store.inject_once(Operation::Settle, Fault::LoseReply);
    lab.client.election("x").unwrap().send("refresh", &1).unwrap();
    channel.next().unwrap().nack("once");
    next_trouble(&mut events, |error| matches!(error, ElectionError::Store(_)));
    lab.pass(Duration::from_secs(1));
    eventually("it to be told again", || lab.store.calls(Operation::Settle) == 2);
    let again = channel.next().unwrap();
    assert_eq!(again.message().attempts, 1);
    again.ack();
    eventually("it to be settled", || lying(&lab, MessageState::Pending).is_empty());
}

#[test]
fn a_message_that_is_done_is_not_handled_again_while_the_store_does_not_take_it() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let refusal = StoreError::refused(StoreErrorKind::ReadOnly, "read only");
    lab.store.inject(Operation::Settle, Fault::Fail(refusal));
    lab.client.election("x").unwrap().send("refresh", &1).unwrap();
    lab.client.election("x").unwrap().send("refresh", &2).unwrap();
    let mut channel = candidacy.channel("refresh").unwrap();
    for number in ["1", "2"] {
        let delivery = channel.next().unwrap();
        assert_eq!(&*delivery.message().payload, number);
        delivery.ack();
    }
    lab.pass(timing().renew_every());
    assert!(futures_util::FutureExt::now_or_never(channel.as_mut().next()).is_none());
    assert_eq!(lying(&lab, MessageState::Pending), ["1", "2"]);
    lab.store.heal();
    lab.pass(Duration::from_secs(31));
    eventually("both to be settled", || lying(&lab, MessageState::Pending).is_empty());
    assert!(candidacy.is_leader());
}

#[test]
fn a_store_that_fails_is_left_in_peace_and_found_again() {
    let lab = Lab::new();
    let election = lab.leader("a");
    let mut events = lab.events(&election);
    let refusal = StoreError::refused(StoreErrorKind::Unavailable, "away");
    lab.store.inject(Operation::Receive, Fault::Fail(refusal));
    let mut channel = election.channel("refresh").unwrap();
    let error = next_trouble(&mut events, |_| true);
    assert_eq!(error.to_string(), "away");
    for number in 0..100 {
        lab.client.election("x").unwrap().send("refresh", &number).unwrap();
    }
    lab.store.forget_counts();
    lab.pass(Duration::from_secs(60));
    let asked = lab.store.calls(Operation::Receive);
    assert!((1..=20).contains(&asked), "backed off, although a hundred hints came: {asked}");
    assert!(election.is_leader(), "messages end no candidacy");
    lab.store.heal();
    lab.pass(Duration::from_secs(31));
    let delivery = channel.next().unwrap();
    assert_eq!(&*delivery.message().payload, "0");
    delivery.ack();
}

#[test]
fn a_store_that_hangs_keeps_nobody_from_stopping() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut channel = candidacy.channel("refresh").unwrap();
    lab.client.election("x").unwrap().send("refresh", &1).unwrap();
    let delivery = channel.next().unwrap();
    lab.store.inject(Operation::Settle, Fault::BlackHole);
    lab.store.inject(Operation::Receive, Fault::BlackHole);
    delivery.ack();
    std::thread::scope(|scope| {
        let stopping = scope.spawn(|| candidacy.stop());
        let started = lab.hands.now();
        eventually("it to be stopped", || {
            lab.pass(Duration::from_millis(50));
            stopping.is_finished()
        });
        let took = lab.hands.now().saturating_since(started);
        assert!(took <= timing().grace() + timing().reaction() + timing().attempt_timeout() * 3, "{took:?}");
    });
    assert_eq!(lying(&lab, MessageState::Pending), ["1"], "nobody knows, so the next leader gets it");
}

#[test]
fn a_leader_that_the_store_does_not_know_any_more_finds_out() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut channel = candidacy.channel("refresh").unwrap();
    lab.client.election("x").unwrap().send("refresh", &1).unwrap();
    let delivery = channel.next().unwrap();
    // The lease runs out in the store while nothing of this process runs: another store on the same clock would do.
    lab.store.inject(Operation::Renew, Fault::BlackHole);
    lab.pass(timing().ttl() + Duration::from_secs(1));
    assert!(!candidacy.is_leader() && delivery.leadership().is_cancelled());
    delivery.ack();
    lab.store.heal();
    lab.pass(timing().ttl());
    let again = channel.next().unwrap();
    assert_eq!(again.message().attempts, 0, "handled again under a new term, because it was not settled");
    again.ack();
    eventually("it to be settled", || lying(&lab, MessageState::Pending).is_empty());
}

#[test]
fn a_store_that_says_somebody_else_leads_is_believed_and_messages_go_on_under_the_next_term() {
    let (hands, store_hands) = (VirtualClock::new(), VirtualClock::new());
    let memory = MemoryStore::with_clock(Clock::controlled_by(&store_hands));
    let client = Client::builder().clock(Clock::controlled_by(&hands)).with_store(Arc::new(memory)).unwrap();
    let candidacy = client.election("x").unwrap().candidate().timing(timing()).start().unwrap();
    let first = candidacy.elected().unwrap();
    let mut channel = candidacy.channel("refresh").unwrap();
    // Of two clocks one is far off: the lease has run out there, and not here.
    store_hands.advance(timing().ttl() * 2);
    client.election("x").unwrap().send("refresh", &1).unwrap();
    let mut delivery = None;
    eventually("the message to be handed out", || {
        hands.advance(Duration::from_millis(50));
        delivery = futures_util::FutureExt::now_or_never(channel.as_mut().next()).flatten();
        delivery.is_some()
    });
    let delivery = delivery.unwrap();
    assert!(first.is_cancelled() && delivery.term() > first.term());
    delivery.ack();
    let waiting = || client.election("x").unwrap().messages(MessageState::Pending, 1).unwrap();
    eventually("it to be settled", || waiting().is_empty());
}

#[test]
fn nothing_is_lost_and_nothing_overtakes_while_leaders_come_and_go() {
    const SENDERS: usize = 4;
    const EACH: usize = 60;
    let lab = Lab::new();
    let handled = Arc::new(Mutex::new(Vec::new()));
    let labs = [lab.rival(), lab.rival(), lab.rival()];
    let candidates = ["a", "b", "c"].into_iter().zip(&labs).map(|(name, lab)| {
        let handled = Arc::clone(&handled);
        let handle = move |message: Message, _: tenure::Leadership| {
            handled.lock().unwrap().push((message.sender.to_string(), message.payload.to_string()));
            // Now and then something fails, and is tried again.
            if message.payload.ends_with('7') && message.attempts == 0 { Err("not at once") } else { Ok(()) }
        };
        lab.candidate(name).on_message("refresh", handle).start().unwrap()
    });
    let candidates: Vec<_> = candidates.collect();
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let election = lab.client.election("x").unwrap().with_sender(format!("{sender}")).unwrap();
            scope.spawn(move || {
                for number in 0..EACH {
                    election.send("refresh", &number).unwrap();
                }
            });
        }
        for _ in 0..6 {
            let leading = || candidates.iter().find(|candidate| candidate.is_leader());
            eventually("somebody to lead", || {
                lab.pass(Duration::from_millis(50));
                leading().is_some()
            });
            leading().inspect(|leader| leader.request_resign());
        }
    });
    eventually("all to be handled", || {
        lab.pass(Duration::from_millis(50));
        lying(&lab, MessageState::Pending).is_empty()
    });
    let handled = handled.lock().unwrap();
    let expected: Vec<String> = (0..EACH).map(|number| number.to_string()).collect();
    for sender in 0..SENDERS {
        let of_sender = handled.iter().filter(|(from, _)| *from == sender.to_string());
        let mut first_time: Vec<&String> = Vec::new();
        for (_, payload) in of_sender {
            if !first_time.contains(&payload) {
                first_time.push(payload);
            }
        }
        assert_eq!(first_time, expected.iter().collect::<Vec<_>>(), "sender {sender}");
    }
    assert_eq!(lying(&lab, MessageState::DeadLetter), [""; 0]);
}
