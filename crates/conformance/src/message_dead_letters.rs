//! Dead letters: messages that nobody could handle are kept for people, who may requeue them.

use tenure_store::mailbox::{AckOutcome, MAX_DEAD_LETTERS};
use tenure_store::{MessageId, MessageState, NewMessage, random_message_id};

use super::Fixture;
use super::correspondence::{ENOUGH, dead_letter, ids};
use super::player::{Player, key};

pub(super) async fn a_dead_letter_is_kept_but_not_received(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let (first, second) = (one.sends(r#"{"a":1}"#).await, one.sends("2").await);
    let term = one.wins().await;
    one.acks(term, vec![(first, dead_letter(5, "no such table"))]).await;
    assert_eq!(ids(&one.receives(term).await), [second]);
    assert_eq!(ids(&one.lists(MessageState::Pending).await), [second]);
    let dead_letters = one.lists(MessageState::DeadLetter).await;
    assert_eq!(ids(&dead_letters), [first]);
    assert_eq!((&*dead_letters[0].payload, dead_letters[0].attempts), (r#"{"a":1}"#, 5));
    assert_eq!(
        (dead_letters[0].sender.as_str(), dead_letters[0].last_error.as_deref()),
        ("one", Some("no such table"))
    );
}

pub(super) async fn a_dead_letter_is_not_sent_again(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let new_message = one.writes("1");
    one.sends_all(std::slice::from_ref(&new_message)).await;
    let term = one.wins().await;
    one.acks(term, vec![(new_message.id, dead_letter(1, "no"))]).await;
    one.sends_all(std::slice::from_ref(&new_message)).await;
    assert_eq!(one.lists(MessageState::Pending).await, [], "the same id is the same message");
    assert_eq!(ids(&one.lists(MessageState::DeadLetter).await), [new_message.id]);
}

pub(super) async fn dead_letters_are_listed_in_the_order_of_their_acks(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let sent = [one.sends("1").await, one.sends("2").await, one.sends("3").await];
    let term = one.wins().await;
    for index in [2, 0, 1] {
        one.acks(term, vec![(sent[index], dead_letter(1, "no"))]).await;
    }
    assert_eq!(ids(&one.lists(MessageState::DeadLetter).await), [sent[2], sent[0], sent[1]]);
}

pub(super) async fn what_is_put_back_goes_to_the_end_as_new(fixture: &dyn Fixture) {
    let (one, operator) = (Player::new(fixture, "one").await, Player::new(fixture, "operator").await);
    let sent = [one.sends("1").await, one.sends("2").await, one.sends("3").await, one.sends("4").await];
    let term = one.wins().await;
    one.acks(term, vec![(sent[2], dead_letter(5, "no")), (sent[0], dead_letter(5, "no"))]).await;
    assert_eq!(operator.requeues(None).await, 2, "without holding any lease");
    let received = one.receives(term).await;
    assert_eq!(ids(&received), [sent[1], sent[3], sent[2], sent[0]]);
    assert!(received.iter().all(|message| message.attempts == 0 && message.last_error.is_none()));
    assert_eq!(&*received[2].payload, "3");
    assert_eq!(one.lists(MessageState::DeadLetter).await, []);
    one.acks(term, vec![(sent[2], AckOutcome::Done)]).await;
    assert_eq!(ids(&one.receives(term).await), [sent[1], sent[3], sent[0]]);
}

pub(super) async fn some_may_be_put_back_by_id(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let sent = [one.sends("1").await, one.sends("2").await, one.sends("3").await];
    let term = one.wins().await;
    one.acks(term, sent[..2].iter().map(|id| (*id, dead_letter(1, "no"))).collect()).await;
    assert_eq!(one.requeues(Some(&[])).await, 0);
    assert_eq!(one.requeues(Some(&[random_message_id(), sent[2]])).await, 0, "it is no dead letter");
    assert_eq!(one.requeues(Some(&[sent[1], sent[1]])).await, 1);
    assert_eq!(ids(&one.receives(term).await), [sent[2], sent[1]]);
    assert_eq!(ids(&one.lists(MessageState::DeadLetter).await), [sent[0]]);
}

pub(super) async fn putting_back_concerns_one_election(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let there = one.in_election(key("there"));
    let id = one.sends("1").await;
    let term = one.wins().await;
    one.acks(term, vec![(id, dead_letter(1, "no"))]).await;
    assert_eq!((there.requeues(None).await, there.requeues(Some(&[id])).await), (0, 0));
    assert_eq!(ids(&one.lists(MessageState::DeadLetter).await), [id]);
    assert_eq!(there.lists(MessageState::DeadLetter).await, []);
}

pub(super) async fn lists_stop_at_their_limit(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let sent = [one.sends("1").await, one.sends("2").await, one.sends("3").await, one.sends("4").await];
    let term = one.wins().await;
    one.acks(term, sent[..2].iter().map(|id| (*id, dead_letter(1, "no"))).collect()).await;
    for (state, first) in [(MessageState::Pending, sent[2]), (MessageState::DeadLetter, sent[0])] {
        assert_eq!(one.mailbox().list(&one.key, state, 0).await.expect("a list"), []);
        assert_eq!(ids(&one.mailbox().list(&one.key, state, 1).await.expect("a list")), [first]);
        assert_eq!(one.mailbox().list(&one.key, state, ENOUGH).await.expect("a list").len(), 2);
    }
}

pub(super) async fn only_the_newest_dead_letters_are_kept(fixture: &dyn Fixture) {
    const MORE: usize = 3;
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let batch: Vec<NewMessage> = (0..MAX_DEAD_LETTERS + MORE).map(|number| one.writes(&number.to_string())).collect();
    for part in batch.chunks(250) {
        one.sends_all(part).await;
        one.acks(term, part.iter().map(|new_message| (new_message.id, dead_letter(1, "no"))).collect()).await;
    }
    let newest: Vec<MessageId> = batch[MORE..].iter().map(|new_message| new_message.id).collect();
    assert_eq!(ids(&one.lists(MessageState::DeadLetter).await), newest);
    assert_eq!(one.lists(MessageState::Pending).await, []);
    // What was dropped is forgotten: its id is free again.
    one.sends_all(&batch[..1]).await;
    assert_eq!(ids(&one.lists(MessageState::Pending).await), [batch[0].id]);
}
