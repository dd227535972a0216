//! Sending messages to whoever leads, and reading them as a leader.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure::store::{StoreError, StoreErrorKind};
use tenure::testing::{Fault, Operation};
use tenure::{Delivery, Error, ErrorKind, MessageState, random_message_id};

use crate::support::{Lab, block_on, eventually, lying, timing};

fn payload(delivery: &Delivery) -> &str {
    &delivery.message().payload
}

#[test]
fn a_message_sent_before_anybody_led_reaches_the_first_leader() {
    let lab = Lab::new();
    let sent = lab.client.election("x").unwrap().send("refresh", &["monday"]).unwrap();
    let candidacy = lab.leader("a");
    let mut channel = candidacy.channel("refresh").unwrap();
    let delivery = channel.next().unwrap();
    assert_eq!((delivery.message().id, payload(&delivery)), (sent, r#"["monday"]"#));
    assert_eq!(delivery.term(), candidacy.leadership().unwrap().term());
    assert_eq!(delivery.json::<Vec<String>>().unwrap(), ["monday"]);
    assert_eq!(channel.name().as_str(), "refresh");
    delivery.ack();
    eventually("the store to hear of it", || lying(&lab, MessageState::Pending).is_empty());
}

#[test]
fn messages_come_in_the_order_in_which_one_sender_sent_them() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut channel = candidacy.channel("refresh").unwrap();
    let rival = lab.rival();
    for number in 0..200 {
        rival.client.election("x").unwrap().send("refresh", &number).unwrap();
    }
    for number in 0..200 {
        let delivery = channel.next().unwrap();
        assert_eq!(payload(&delivery), number.to_string());
        delivery.ack();
    }
    eventually("all to be settled", || lying(&lab, MessageState::Pending).is_empty());
}

#[test]
fn a_stream_of_messages_ends_when_the_election_is_stopped() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut stream = candidacy.as_ref().channel("refresh").unwrap();
    lab.client.election("x").unwrap().send("refresh", "last words").unwrap();
    block_on(stream.next()).unwrap().ack();
    candidacy.stop();
    assert!(block_on(stream.next()).is_none());
    assert_eq!(lying(&lab, MessageState::Pending), [""; 0], "what was done was told before the lease was released");
}

#[test]
fn only_the_leader_is_given_messages() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let rival = lab.rival();
    let follower = rival.candidate("b").start().unwrap();
    let mut unheard = follower.channel("refresh").unwrap();
    lab.client.election("x").unwrap().send("refresh", "news").unwrap();
    lab.pass(timing().renew_every());
    rival.settle();
    assert!(!follower.is_leader());
    assert!(futures_util::FutureExt::now_or_never(unheard.as_mut().next()).is_none());
    assert_eq!(rival.store.calls(Operation::Receive), 0, "it does not even ask");
    leader.channel("refresh").unwrap().next().unwrap().ack();
}

#[test]
fn senders_have_a_label_and_may_choose_it() {
    let lab = Lab::new();
    lab.client.election("x").unwrap().send("refresh", &1).unwrap();
    lab.client.election("x").unwrap().send("refresh", &2).unwrap();
    let named = lab.client.election("x").unwrap().with_sender("office").unwrap();
    named.send("refresh", &3).unwrap();
    let waiting = lab.client.election("x").unwrap().messages(MessageState::Pending, 10).unwrap();
    assert_eq!(waiting[0].sender, waiting[1].sender, "a handle has one label");
    assert_eq!(waiting[2].sender.as_str(), "office");
}

#[test]
fn namespaces_keep_their_messages_apart() {
    let lab = Lab::new();
    let other = lab.client.with_namespace("other").unwrap();
    other.election("x").unwrap().send("refresh", &1).unwrap();
    assert_eq!(lying(&lab, MessageState::Pending), [""; 0]);
    assert_eq!(other.election("x").unwrap().messages(MessageState::Pending, 10).unwrap().len(), 1);
}

#[test]
fn a_lost_reply_makes_no_second_copy() {
    let lab = Lab::new();
    lab.store.inject_once(Operation::Send, Fault::LoseReply);
    lab.store.inject_once(Operation::Send, Fault::LoseReply);
    lab.client.election("x").unwrap().send("refresh", "once").unwrap();
    assert_eq!(lab.store.calls(Operation::Send), 3, "sent until the outcome was known");
    assert_eq!(lying(&lab, MessageState::Pending), ["\"once\""]);
}

#[test]
fn a_lost_request_is_sent_again() {
    let lab = Lab::new();
    lab.store.inject_once(Operation::Send, Fault::LoseRequest);
    lab.client.election("x").unwrap().send("refresh", "once").unwrap();
    assert_eq!(lying(&lab, MessageState::Pending), ["\"once\""]);
}

#[test]
fn a_refusal_is_told_at_once() {
    let lab = Lab::new();
    lab.store.inject(Operation::Send, Fault::Fail(StoreError::refused(StoreErrorKind::Full, "no room")));
    let refusal = lab.client.election("x").unwrap().send("refresh", &1).unwrap_err();
    assert_eq!((refusal.kind(), refusal.to_string().as_str()), (ErrorKind::Store, "no room"));
    assert_eq!(lab.store.calls(Operation::Send), 1);
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is() {
    let lab = Lab::new();
    let invalid = [
        lab.client.election("x").unwrap().send_json("refresh", "{\"a\":"),
        lab.client.election("x").unwrap().send_json("refresh", ""),
        lab.client.election("x").unwrap().send_json("refresh", "1 2"),
        lab.client.election("").and_then(|election| election.send("refresh", &1)),
        lab.client.election("x").unwrap().send("", &1),
        lab.client.election("x").unwrap().send(&"c".repeat(64), &1),
        lab.client.election("x").unwrap().send("two\nlines", &1),
    ];
    for refusal in invalid {
        let refusal = refusal.unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::Invalid, "{refusal}");
    }
    let large = lab.client.election("x").unwrap().send("refresh", &"x".repeat(64 * 1024)).unwrap_err();
    let Error::Store(error) = &large else { panic!("{large:?}") };
    assert_eq!(error.kind(), StoreErrorKind::TooLarge, "{large}");
    assert!(large.to_string().contains("65536"), "{large}");
    assert_eq!(lab.store.calls(Operation::Send), 0);
    lab.client.election("x").unwrap().send("refresh", &"x".repeat(64 * 1024 - 2)).unwrap();
}

#[test]
fn the_same_id_may_be_sent_again_and_the_text_is_kept() {
    let lab = Lab::new();
    let id = random_message_id();
    for _ in 0..2 {
        lab.client.election("x").unwrap().send_with_id(id, "refresh", "{ \"b\" : 1e2 }").unwrap();
    }
    assert_eq!(lying(&lab, MessageState::Pending), ["{ \"b\" : 1e2 }"]);
}

#[test]
fn several_readers_of_a_channel_share_its_messages() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let (mut one, mut other) = (candidacy.channel("refresh").unwrap(), candidacy.channel("refresh").unwrap());
    for sender in ["s", "t"] {
        lab.client.election("x").unwrap().with_sender(sender).unwrap().send("refresh", sender).unwrap();
    }
    std::thread::scope(|scope| {
        let readers = [scope.spawn(|| one.next()), scope.spawn(|| other.next())];
        let mut heard = readers.map(|reader| {
            let delivery = reader.join().unwrap().unwrap();
            let text = payload(&delivery).to_owned();
            delivery.ack();
            text
        });
        heard.sort();
        assert_eq!(heard, ["\"s\"", "\"t\""]);
    });
}

#[test]
fn a_channel_that_is_closed_gives_its_messages_back() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut first = candidacy.channel("refresh").unwrap();
    lab.client.election("x").unwrap().send("refresh", &1).unwrap();
    lab.client.election("x").unwrap().send("refresh", &2).unwrap();
    first.next().unwrap().ack();
    drop(first);
    let mut second = candidacy.channel("refresh").unwrap();
    let delivery = second.next().unwrap();
    assert_eq!((payload(&delivery), delivery.message().attempts), ("2", 0));
    delivery.ack();
}

#[test]
fn a_hint_that_was_lost_costs_no_more_than_a_ttl() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let mut channel = candidacy.channel("refresh").unwrap();
    lab.client.election("x").unwrap().send("refresh", &1).unwrap();
    channel.next().unwrap().ack();
    eventually("it to be settled", || lying(&lab, MessageState::Pending).is_empty());
    lab.store.drop_hints(true);
    lab.client.election("x").unwrap().send("refresh", &2).unwrap();
    lab.pass(timing().ttl() + Duration::from_secs(1));
    let delivery = channel.next().unwrap();
    assert_eq!(payload(&delivery), "2");
    delivery.ack();
}

#[test]
fn a_stream_that_is_not_polled_leaves_messages_to_other_readers() {
    let lab = Lab::new();
    let candidacy = lab.leader("a").into_inner();
    let (mut idle, mut reader) = (candidacy.channel("refresh").unwrap(), candidacy.channel("refresh").unwrap());
    assert!(StreamExt::next(&mut idle).now_or_never().is_none(), "nothing yet");
    assert!(idle.next().now_or_never().is_none(), "asked once more, it waits no longer in the line of before");
    lab.client.election("x").unwrap().send("refresh", "news").unwrap();
    let delivery = block_on(reader.next()).unwrap();
    assert_eq!(delivery.json::<String>().unwrap(), "news");
    delivery.ack();
}
