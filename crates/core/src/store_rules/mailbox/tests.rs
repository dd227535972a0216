use std::sync::Arc;

use super::*;
use crate::id::{ChannelName, Namespace, Sender};
use crate::lease::{Nonce, Term};
use crate::messages::OrderingKey;
use crate::request::ElectionKey;

const LIMITS: MailboxLimits = MailboxLimits { max_payload: 8, max_pending: 3 };

fn key() -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new("mail").unwrap() }
}

fn new_message(id: u128, sender: &str) -> NewMessage {
    NewMessage {
        key: key(),
        id: MessageId::from_bits(id),
        channel: ChannelName::new("a").unwrap(),
        sender: Sender::new(sender).unwrap(),
        payload: Arc::from("null"),
    }
}

fn send(mailbox: &mut MailboxRecord, id: u128) -> SendReply {
    mailbox.send(&new_message(id, "x"), LIMITS, 0)
}

fn ack(mailbox: &mut MailboxRecord, id: u128, outcome: AckOutcome) -> Vec<MessageId> {
    let outcomes = vec![(MessageId::from_bits(id), outcome)];
    mailbox.ack(&Ack { key: key(), nonce: Nonce::from_bits(1), term: Term::new(1).unwrap(), outcomes })
}

fn dead_letter(attempt: u32) -> AckOutcome {
    AckOutcome::DeadLettered { attempt, why: "no".to_owned() }
}

fn ids(mailbox: &MailboxRecord, state: MessageState) -> Vec<u128> {
    mailbox.list(state, usize::MAX).iter().map(|message| message.id.to_bits()).collect()
}

#[test]
fn the_same_id_makes_no_copy_not_even_when_there_is_no_room() {
    let mut mailbox = MailboxRecord::default();
    assert_eq!([1, 2, 3].map(|id| send(&mut mailbox, id)), [SendReply::Accepted; 3]);
    assert_eq!([3, 4].map(|id| send(&mut mailbox, id)), [SendReply::Known, SendReply::Full]);
    let large = NewMessage { payload: Arc::from("123456789"), ..new_message(3, "x") };
    assert_eq!(mailbox.send(&large, LIMITS, 0), SendReply::TooLarge);
    assert_eq!(ids(&mailbox, MessageState::Pending), [1, 2, 3]);
}

#[test]
fn a_failed_message_keeps_its_place_and_an_attempt_told_twice_counts_once() {
    let mut mailbox = MailboxRecord::default();
    let _ = [1, 2].map(|id| send(&mut mailbox, id));
    for _ in 0..2 {
        assert_eq!(ack(&mut mailbox, 1, AckOutcome::Failed { attempt: 1, why: "no".to_owned() }), []);
    }
    let first = &mailbox.list(MessageState::Pending, 1)[0];
    assert_eq!((first.id.to_bits(), first.attempts, first.last_error.as_deref()), (1, 1, Some("no")));
}

#[test]
fn a_dead_letter_is_passed_over_by_later_words_and_comes_back_untried_at_the_end() {
    let mut mailbox = MailboxRecord::default();
    let _ = [1, 2].map(|id| send(&mut mailbox, id));
    ack(&mut mailbox, 1, dead_letter(3));
    ack(&mut mailbox, 1, AckOutcome::Done);
    assert_eq!((ids(&mailbox, MessageState::Pending), ids(&mailbox, MessageState::DeadLetter)), (vec![2], vec![1]));
    assert_eq!(send(&mut mailbox, 1), SendReply::Known);
    assert_eq!(mailbox.requeue(Some(&[MessageId::from_bits(2)])), 0);
    assert_eq!(mailbox.requeue(None), 1);
    assert_eq!(ids(&mailbox, MessageState::Pending), [2, 1]);
    assert_eq!(mailbox.list(MessageState::Pending, 2)[1].attempts, 0);
}

#[test]
fn of_too_many_dead_letters_the_oldest_are_dropped() {
    let mut mailbox = MailboxRecord::default();
    let most = MAX_DEAD_LETTERS as u128;
    for id in 0..most {
        send(&mut mailbox, id);
        assert_eq!(ack(&mut mailbox, id, dead_letter(1)), []);
    }
    send(&mut mailbox, most);
    assert_eq!(ack(&mut mailbox, most, dead_letter(1)), [MessageId::from_bits(0)]);
    assert_eq!(send(&mut mailbox, 0), SendReply::Accepted, "it is not known any more");
}

#[test]
fn only_what_is_wanted_is_received_and_stays_in_line() {
    let mut mailbox = MailboxRecord::default();
    for (id, sender) in [(1, "x"), (2, "y"), (3, "x")] {
        mailbox.send(&new_message(id, sender), LIMITS, 0);
    }
    let receive = |except: &[&str], limit| {
        let line = |sender: &&str| new_message(0, sender);
        let except = except.iter().map(line).map(|of| OrderingKey { channel: of.channel, sender: of.sender });
        let (nonce, term, channels) = (Nonce::from_bits(1), Term::new(1).unwrap(), vec![new_message(0, "x").channel]);
        let received = mailbox.receive(&Receive { key: key(), nonce, term, channels, except: except.collect(), limit });
        received.iter().map(|message| message.id.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!((receive(&[], 2), receive(&["x"], 2), receive(&["x", "y"], 2)), (vec![1, 2], vec![2], vec![]));
    assert_eq!(receive(&[], 9), [1, 2, 3]);
}
