//! Handlers of messages: one at a time, tried again when they fail, and harmless whatever they do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tenure::blocking::Candidacy;
use tenure::testing::Operation;
use tenure::{ChannelName, ElectionError, Message, MessageState};

use crate::support::{Lab, elected, eventually, lying, next_trouble, timing};

fn channel(name: &str) -> ChannelName {
    ChannelName::new(name).unwrap()
}

/// Sends under a label of its own.
fn send(lab: &Lab, sender: &str, channel: &str, payload: &str) {
    lab.client.election("x").unwrap().with_sender(sender).unwrap().send(channel, payload).unwrap();
}

/// A leader whose handler fails for some messages, and what it was given.
fn picky(
    lab: &Lab,
    refuses: impl Fn(&Message) -> bool + Send + Sync + 'static,
) -> (Candidacy, Arc<Mutex<Vec<String>>>) {
    let given = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&given);
    let handle = move |message: Message, _: tenure::Leadership| {
        noted.lock().unwrap().push(message.payload.to_string());
        if refuses(&message) { Err("not this one") } else { Ok(()) }
    };
    (elected(lab.candidate("a").on_message(channel("refresh"), handle)), given)
}

/// Lets time pass until something holds.
fn pass_until(lab: &Lab, what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || {
        lab.pass(Duration::from_millis(50));
        holds()
    });
}

#[test]
fn a_handler_is_given_each_message_once() {
    let lab = Lab::new();
    let (election, given) = picky(&lab, |_| false);
    for payload in ["1", "2", "3"] {
        send(&lab, "s", "refresh", payload);
    }
    eventually("all to be handled", || lying(&lab, MessageState::Pending).is_empty());
    lab.pass(timing().ttl());
    assert_eq!(*given.lock().unwrap(), ["\"1\"", "\"2\"", "\"3\""]);
    election.stop();
}

#[test]
fn a_failing_message_holds_back_its_own_sender_only_and_is_tried_again() {
    let lab = Lab::new();
    let (_election, given) = picky(&lab, |message| &*message.payload == "\"bad\"" && message.attempts < 2);
    for payload in ["bad", "later"] {
        send(&lab, "s", "refresh", payload);
    }
    eventually("the first attempt", || !given.lock().unwrap().is_empty());
    send(&lab, "t", "refresh", "other");
    eventually("another sender to be served", || given.lock().unwrap().contains(&"\"other\"".to_owned()));
    pass_until(&lab, "all to be handled", || lying(&lab, MessageState::Pending).is_empty());
    let given = given.lock().unwrap();
    let of_sender: Vec<&str> = given.iter().map(String::as_str).filter(|payload| *payload != "\"other\"").collect();
    assert_eq!(of_sender, ["\"bad\"", "\"bad\"", "\"bad\"", "\"later\""]);
}

#[test]
fn a_message_that_always_fails_becomes_a_dead_letter_and_can_be_requeued() {
    let lab = Lab::new();
    let broken = Arc::new(AtomicUsize::new(1));
    let is_broken = Arc::clone(&broken);
    let (election, given) = picky(&lab, move |_| is_broken.load(Ordering::Acquire) == 1);
    let mut events = lab.events(&election);
    send(&lab, "s", "refresh", "bad");
    pass_until(&lab, "it to be a dead letter", || !lying(&lab, MessageState::DeadLetter).is_empty());
    assert_eq!(given.lock().unwrap().len(), 5, "as often as the default says");
    assert_eq!(lying(&lab, MessageState::Pending), [""; 0]);
    let dead_letters = lab.client.election("x").unwrap().messages(MessageState::DeadLetter, 10).unwrap();
    assert_eq!((dead_letters[0].attempts, dead_letters[0].last_error.as_deref()), (5, Some("failed: not this one")));
    let error = next_trouble(&mut events, |error| matches!(error, ElectionError::DeadLettered { .. }));
    let ElectionError::DeadLettered { id, attempts, .. } = &error else { unreachable!() };
    assert_eq!((*id, *attempts), (dead_letters[0].id, 5));
    assert!(
        error.to_string().ends_with("inspect it with `tenure messages x --dead-letters`"),
        "it says what to do: {error}"
    );

    broken.store(0, Ordering::Release);
    assert_eq!(lab.client.election("x").unwrap().requeue(Some(&[dead_letters[0].id])).unwrap(), 1);
    pass_until(&lab, "it to be handled", || {
        lying(&lab, MessageState::Pending).is_empty() && lying(&lab, MessageState::DeadLetter).is_empty()
    });
    assert_eq!(given.lock().unwrap().len(), 6);
}

#[test]
fn retries_wait_longer_each_time() {
    let lab = Lab::new();
    let (_election, given) = picky(&lab, |_| true);
    send(&lab, "s", "refresh", "bad");
    eventually("the first attempt", || given.lock().unwrap().len() == 1);
    eventually("the store to hear of it", || {
        lab.client.election("x").unwrap().messages(MessageState::Pending, 1).unwrap()[0].attempts == 1
    });
    let before = lab.hands.now();
    pass_until(&lab, "the fourth attempt", || given.lock().unwrap().len() == 4);
    // At least half of 100, 200 and 400 milliseconds.
    assert!(lab.hands.now().saturating_since(before) >= Duration::from_millis(350));
}

#[test]
fn the_number_of_attempts_may_be_chosen() {
    let lab = Lab::new();
    let given = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&given);
    let handle = move |_: Message, _: tenure::Leadership| {
        noted.fetch_add(1, Ordering::AcqRel);
        Err("never")
    };
    let _election = elected(lab.candidate("a").on_message(channel("refresh"), handle).max_attempts(1));
    send(&lab, "s", "refresh", "bad");
    eventually("it to be a dead letter", || lying(&lab, MessageState::DeadLetter) == ["\"bad\""]);
    assert_eq!(given.load(Ordering::Acquire), 1);
}

#[test]
fn a_panic_is_a_failed_attempt_and_nothing_more() {
    let lab = Lab::new();
    let handle = |message: Message, _: tenure::Leadership| assert!(message.attempts > 0, "on purpose");
    let candidacy = elected(lab.candidate("a").on_message(channel("refresh"), handle));
    let mut events = lab.events(&candidacy);
    let term = candidacy.leadership().unwrap().term();
    send(&lab, "s", "refresh", "bad");
    let error = next_trouble(&mut events, |_| true);
    assert!(error.to_string().contains("the message callback panicked: on purpose (channel refresh"), "{error}");
    pass_until(&lab, "the second attempt", || lying(&lab, MessageState::Pending).is_empty());
    assert_eq!(candidacy.leadership().unwrap().term(), term, "it goes on leading");
}

#[test]
fn async_handlers_need_no_runtime() {
    let lab = Lab::new();
    let (told, heard) = mpsc::channel();
    let handle = move |message: Message, leadership: tenure::Leadership| {
        let told = told.clone();
        async move { told.send((message.payload.to_string(), leadership.term())) }
    };
    let candidacy = elected(lab.candidate("a").on_message_async(channel("refresh"), handle));
    send(&lab, "s", "refresh", "1");
    assert_eq!(heard.recv().unwrap(), ("\"1\"".to_owned(), candidacy.leadership().unwrap().term()));
    eventually("it to be settled", || lying(&lab, MessageState::Pending).is_empty());
}

#[test]
fn a_handler_that_hangs_stops_nothing_else() {
    let lab = Lab::new();
    let (told, heard) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let candidacy = elected(
        lab.candidate("a")
            .on_message(channel("stuck"), move |_, _| {
                let _ = held.lock().unwrap().recv();
            })
            .on_message(channel("refresh"), move |message, _| told.send(message.payload.to_string())),
    );
    let mut events = lab.events(&candidacy);
    let term = candidacy.leadership().unwrap().term();
    send(&lab, "s", "stuck", "hangs");
    send(&lab, "t", "stuck", "waits");
    send(&lab, "s", "refresh", "goes on");
    assert_eq!(heard.recv().unwrap(), "\"goes on\"");
    lab.pass(timing().ttl() * 2);
    assert_eq!(candidacy.leadership().unwrap().term(), term, "renewals go on");

    std::thread::scope(|scope| {
        let stopping = scope.spawn(|| candidacy.stop());
        // At most the grace, the reaction bound and the rest of the lease.
        pass_until(&lab, "it to be stopped", || stopping.is_finished());
    });
    let error = next_trouble(&mut events, |error| matches!(error, ElectionError::Callback { .. }));
    assert!(error.to_string().contains("has not returned"), "{error}");
    assert_eq!(lying(&lab, MessageState::Pending), ["\"hangs\"", "\"waits\""], "the next leader gets them");
    drop(release);
}

#[test]
fn a_handler_whose_leadership_ends_is_told_and_its_message_goes_to_the_next_leader() {
    let lab = Lab::new();
    let (begun, has_begun) = mpsc::channel();
    let handle = move |_: Message, leadership: tenure::Leadership| {
        begun.send(()).unwrap();
        leadership.wait_cancelled();
        Err("interrupted")
    };
    let candidacy = elected(lab.candidate("a").on_message(channel("refresh"), handle));
    send(&lab, "s", "refresh", "1");
    has_begun.recv().unwrap();
    candidacy.stop();

    let rival = lab.rival();
    let next = rival.leader("b");
    let delivery = next.channel("refresh").unwrap().next().unwrap();
    assert_eq!((&*delivery.message().payload, delivery.message().attempts), ("\"1\"", 0), "that was no attempt");
    assert!(delivery.term().get() > 1);
    delivery.ack();
}

#[test]
fn a_resignation_waits_for_a_handler_and_what_it_did_is_settled() {
    let lab = Lab::new();
    let (begun, has_begun) = mpsc::channel();
    let handle = move |_: Message, leadership: tenure::Leadership| {
        begun.send(()).unwrap();
        leadership.wait_cancelled();
    };
    let candidacy = elected(lab.candidate("a").on_message(channel("refresh"), handle));
    send(&lab, "s", "refresh", "1");
    has_begun.recv().unwrap();
    candidacy.resign().unwrap();
    assert_eq!(lying(&lab, MessageState::Pending), [""; 0], "it was told before the lease was released");
}

#[test]
fn nothing_is_asked_of_the_store_when_nothing_happens() {
    let lab = Lab::new();
    let (_election, _) = picky(&lab, |_| false);
    lab.pass(timing().ttl());
    lab.store.forget_counts();
    lab.pass(timing().ttl() * 10);
    let asked = lab.store.calls(Operation::Receive);
    assert!((1..=12).contains(&asked), "about once per ttl, not {asked} times in ten");
    assert_eq!(lab.store.calls(Operation::Settle), 0);
}
