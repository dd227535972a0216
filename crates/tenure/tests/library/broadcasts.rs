//! Broadcasts: every candidate hears them, and whatever it does with them is harmless.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::blocking::{Broadcasts, Candidacy};
use tenure::store::StoreErrorKind;
use tenure::testing::{Fault, Operation};
use tenure::{Broadcast, ChannelName, ElectionError, Error, ErrorKind, Sender, StoreError};

use crate::support::{Lab, block_on, elected, eventually, id, next_trouble, timing};

fn channel(name: &str) -> ChannelName {
    ChannelName::new(name).unwrap()
}

/// A reader that hears what is said from now on.
fn reader(candidacy: &Candidacy, name: &str) -> Broadcasts {
    let reader = candidacy.broadcasts(name).unwrap();
    reader.listening();
    reader
}

/// What waits for a reader, up to this payload.
fn payloads(reader: &mut Broadcasts, last: &str) -> Vec<String> {
    let mut heard = Vec::new();
    while heard.last().map(String::as_str) != Some(last) {
        heard.push(reader.next().unwrap().payload.to_string());
    }
    heard
}

#[test]
fn leaders_and_followers_of_all_processes_hear_it_and_so_do_all_readers() {
    let (lab, election) = leader();
    let rival = lab.rival();
    let follower = rival.candidate("b").start().unwrap();
    let mut readers = [reader(&election, "reload"), reader(&election, "reload"), reader(&follower, "reload")];
    let sender = Sender::from(id("office"));
    let said =
        rival.client.election("x").unwrap().with_sender(&sender).unwrap().broadcast("reload", &["prices"]).unwrap();
    for reader in &mut readers {
        let heard = reader.next().unwrap();
        assert_eq!((heard.id, &heard.sender, heard.channel.as_str()), (said, &sender, "reload"));
        assert_eq!(
            (&*heard.payload, heard.json::<Vec<String>>().unwrap()),
            ("[\"prices\"]", vec!["prices".to_owned()])
        );
    }
}

#[test]
fn only_the_channel_and_the_election_that_were_named_are_told() {
    let (lab, election) = leader();
    let mut reloads = reader(&election, "reload");
    lab.client.election("x").unwrap().broadcast("Reload", &1).unwrap();
    lab.client.election("y").unwrap().broadcast("reload", &2).unwrap();
    lab.client.with_namespace("other").unwrap().election("x").unwrap().broadcast("reload", &3).unwrap();
    lab.client.election("x").unwrap().broadcast_json("reload", "{ \"a\" : 1 }").unwrap();
    assert_eq!(&*reloads.next().unwrap().payload, "{ \"a\" : 1 }", "byte for byte, and nothing before");
}

#[test]
fn a_handler_is_given_everything_in_order_whoever_leads() {
    let (lab, _election) = leader();
    let rival = lab.rival();
    let (told, heard) = mpsc::channel();
    let follower = rival
        .candidate("b")
        .on_broadcast(channel("reload"), move |broadcast| told.send(broadcast.payload.to_string()))
        .start()
        .unwrap();
    reader(&follower, "other");
    for number in 0..100 {
        lab.client.election("x").unwrap().broadcast("reload", &number).unwrap();
    }
    let expected: Vec<String> = (0..100).map(|number: u32| number.to_string()).collect();
    assert_eq!(heard.iter().take(100).collect::<Vec<_>>(), expected);
}

#[test]
fn async_handlers_need_no_runtime() {
    let lab = Lab::new();
    let (told, heard) = mpsc::channel();
    let handle = move |broadcast: Broadcast| {
        let told = told.clone();
        async move { told.send(broadcast.payload.to_string()) }
    };
    let candidacy = elected(lab.candidate("a").on_broadcast_async(channel("reload"), handle));
    reader(&candidacy, "reload");
    lab.client.election("x").unwrap().broadcast("reload", &1).unwrap();
    assert_eq!(heard.recv().unwrap(), "1");
}

#[test]
fn a_panic_or_an_error_is_reported_and_the_next_one_is_handled() {
    let lab = Lab::new();
    let (told, heard) = mpsc::channel();
    let handle = move |broadcast: Broadcast| match &*broadcast.payload {
        "1" => panic!("on purpose"),
        "2" => Err("not this one"),
        payload => {
            told.send(payload.to_owned()).unwrap();
            Ok(())
        }
    };
    let candidacy = elected(lab.candidate("a").on_broadcast(channel("reload"), handle));
    reader(&candidacy, "reload");
    let mut events = lab.events(&candidacy);
    let term = candidacy.leadership().unwrap().term();
    for number in 1..=3 {
        lab.client.election("x").unwrap().broadcast("reload", &number).unwrap();
    }
    for expected in ["the broadcast callback panicked: on purpose (channel reload", "failed: not this one"] {
        let error = next_trouble(&mut events, |_| true).to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(heard.recv().unwrap(), "3");
    assert_eq!(candidacy.leadership().unwrap().term(), term, "it goes on leading");
}

#[test]
fn a_handler_that_hangs_holds_up_nothing_and_the_oldest_are_dropped() {
    let lab = Lab::new();
    let (begun, has_begun) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let (held, given) = (Mutex::new(held), Arc::new(Mutex::new(Vec::new())));
    let noted = Arc::clone(&given);
    let candidacy = elected(lab.candidate("a").on_broadcast(channel("stuck"), move |broadcast| {
        noted.lock().unwrap().push(broadcast.payload.to_string());
        begun.send(()).unwrap();
        let _ = held.lock().unwrap().recv();
    }));
    let mut others = reader(&candidacy, "reload");
    let mut events = lab.events(&candidacy);
    let term = candidacy.leadership().unwrap().term();
    let say = |payload: u32| lab.client.election("x").unwrap().broadcast("stuck", &payload).unwrap();
    say(0);
    has_begun.recv().unwrap();
    // A thousand may wait; three more do not fit.
    for number in 1..=1_003 {
        say(number);
    }
    lab.client.election("x").unwrap().broadcast("reload", &1).unwrap();
    assert_eq!(payloads(&mut others, "1"), ["1"]);
    lab.pass(timing().ttl() * 2);
    assert_eq!(candidacy.leadership().unwrap().term(), term, "renewals go on");
    let missed = |error: &ElectionError| matches!(error, ElectionError::BroadcastsMissed { .. });
    let first = next_trouble(&mut events, missed);
    assert_eq!(first, ElectionError::BroadcastsMissed { channel: Some(channel("stuck")), count: 1 }, "told at once");
    drop(release);
    eventually("all that waited to be handled", || given.lock().unwrap().len() == 1_001);
    assert_eq!(
        next_trouble(&mut events, missed),
        ElectionError::BroadcastsMissed { channel: Some(channel("stuck")), count: 2 }
    );
    assert_eq!(given.lock().unwrap()[..3], ["0", "4", "5"], "the oldest were dropped");
}

#[test]
fn nothing_is_heard_before_listening_began_or_after_the_reader_is_gone() {
    let (lab, election) = leader();
    lab.client.election("x").unwrap().broadcast("reload", &1).unwrap();
    let (mut first, mut stays) = (reader(&election, "reload"), reader(&election, "reload"));
    lab.client.election("x").unwrap().broadcast("reload", &2).unwrap();
    assert_eq!(payloads(&mut first, "2"), ["2"]);
    drop(first);
    lab.client.election("x").unwrap().broadcast("reload", &3).unwrap();
    assert_eq!(payloads(&mut stays, "3"), ["2", "3"]);
    let mut second = reader(&election, "reload");
    lab.client.election("x").unwrap().broadcast("reload", &4).unwrap();
    assert_eq!(payloads(&mut second, "4"), ["4"]);
}

#[test]
fn a_reader_ends_with_the_election_after_what_it_has_heard() {
    let (lab, election) = leader();
    let mut reloads = reader(&election, "reload");
    let mut witness = reader(&election, "reload");
    lab.client.election("x").unwrap().broadcast("reload", &1).unwrap();
    witness.next().unwrap();
    election.stop();
    assert_eq!(reloads.next().unwrap().payload.as_ref(), "1");
    assert_eq!(reloads.next(), None);
    let mut late = election.broadcasts("reload").unwrap();
    late.listening();
    assert_eq!(late.next(), None);
}

#[test]
fn what_cannot_be_sent_is_refused_with_a_word() {
    let (lab, election) = leader();
    let max = lab.client.store().pubsub().unwrap().max_payload;
    let text = |bytes: usize| "x".repeat(bytes - 2);
    lab.client.election("x").unwrap().broadcast("reload", &text(max)).unwrap();
    let Error::Store(error) = lab.client.election("x").unwrap().broadcast("reload", &text(max + 1)).unwrap_err() else {
        panic!("a refusal of the store")
    };
    assert_eq!(error.kind(), StoreErrorKind::TooLarge);
    for invalid in [
        lab.client.election("x").unwrap().broadcast_json("reload", "no json").unwrap_err(),
        lab.client.election("x").unwrap().broadcast_json("", "1").unwrap_err(),
        lab.client.election("").unwrap_err(),
        election.broadcasts("two\nlines").unwrap_err(),
    ] {
        assert_eq!(invalid.kind(), ErrorKind::Invalid, "{invalid}");
    }
    assert_eq!(lab.store.calls(Operation::Broadcast), 1, "nobody else was bothered");
}

#[test]
fn what_surely_was_not_sent_is_sent_again_and_what_may_have_been_heard_is_not() {
    let (lab, election) = leader();
    let mut reloads = reader(&election, "reload");
    lab.store.inject_once(Operation::Broadcast, Fault::LoseRequest);
    lab.client.election("x").unwrap().broadcast("reload", &1).unwrap();
    assert_eq!(lab.store.calls(Operation::Broadcast), 2);
    lab.store.inject_once(Operation::Broadcast, Fault::LoseReply);
    let error = lab.client.election("x").unwrap().broadcast("reload", &2).unwrap_err();
    assert!(matches!(&error, Error::Store(error) if error.write_outcome() == tenure::WriteOutcome::Unknown), "{error}");
    assert_eq!(lab.store.calls(Operation::Broadcast), 3);
    lab.store.inject_once(Operation::Broadcast, Fault::Fail(StoreError::refused(StoreErrorKind::Denied, "no")));
    assert!(lab.client.election("x").unwrap().broadcast("reload", &3).is_err());
    lab.client.election("x").unwrap().broadcast("reload", &4).unwrap();
    assert_eq!(payloads(&mut reloads, "4"), ["1", "2", "4"], "at most once");
}

#[test]
fn nothing_is_asked_of_the_store_while_nothing_is_said() {
    let (lab, election) = leader();
    let _reader = reader(&election, "reload");
    lab.store.forget_counts();
    lab.pass(Duration::from_secs(60));
    assert_eq!((lab.store.calls(Operation::Broadcast), lab.store.calls(Operation::Receive)), (0, 0));
}

fn leader() -> (Lab, Candidacy) {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    (lab, candidacy)
}

#[test]
fn broadcasts_and_hints_are_streams() {
    let lab = Lab::new();
    let hints = lab.client.as_ref().store().hints();
    lab.settle();
    let candidacy = lab.leader("a").into_inner();
    let hint = block_on(hints.take(1).collect::<Vec<_>>());
    assert_eq!(hint.len(), 1, "an election is a change");
    let reloads = candidacy.broadcasts("reload").unwrap();
    block_on(reloads.listening());
    for number in [1, 2] {
        lab.client.election("x").unwrap().broadcast("reload", &number).unwrap();
    }
    let payloads = reloads.map(|broadcast| broadcast.payload.to_string()).take(2);
    assert_eq!(block_on(payloads.collect::<Vec<_>>()), ["1", "2"]);
}
