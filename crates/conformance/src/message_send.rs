//! Messages are accepted once each, in order, and disturb nothing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tenure_store::mailbox::AckOutcome;
use tenure_store::{ElectionKey, Forgetting, MessageState, NewMessage, StoreErrorKind, Use};

use super::Fixture;
use super::correspondence::{dead_letter, ids, payloads};
use super::forget::is_gone;
use super::player::{Player, key, key_in};

/// As many as somebody may reasonably send in one go.
const MANY: usize = 1_000;

pub(super) async fn a_mailbox_is_described_in_a_sentence(fixture: &dyn Fixture) {
    let promises = Player::new(fixture, "one").await.promises();
    assert!(promises.statement.ends_with('.') && promises.statement.len() > 10, "{:?}", promises.statement);
    assert!(promises.durable, "these are the properties of a mailbox in which messages wait");
    assert!((1..=tenure_store::mailbox::MAX_PAYLOAD).contains(&promises.max_payload), "{promises:?}");
    assert!((1..=tenure_store::mailbox::MAX_PENDING).contains(&promises.max_pending), "{promises:?}");
}

pub(super) async fn a_message_waits_until_somebody_leads(fixture: &dyn Fixture) {
    let (sender, leader) = (Player::new(fixture, "sender").await, Player::new(fixture, "leader").await);
    let new_message = sender.writes(r#"{"day":"monday"}"#);
    sender.sends_all(std::slice::from_ref(&new_message)).await;
    let term = leader.wins().await;
    let received = leader.receives(term).await;
    assert_eq!(ids(&received), [new_message.id]);
    let message = &received[0];
    assert_eq!((&message.channel, &message.sender), (&new_message.channel, &new_message.sender));
    assert_eq!((&*message.payload, message.attempts, &message.last_error), (&*new_message.payload, 0, &None));
    assert!(message.sent_at_unix_ms > 1_600_000_000_000, "people are told when: {}", message.sent_at_unix_ms);
}

pub(super) async fn a_message_reaches_whoever_leads_already(fixture: &dyn Fixture) {
    let (sender, leader) = (Player::new(fixture, "sender").await, Player::new(fixture, "leader").await);
    let term = leader.wins().await;
    assert_eq!(leader.receives(term).await, []);
    let id = sender.sends("1").await;
    assert_eq!(ids(&leader.receives(term).await), [id]);
}

pub(super) async fn a_message_outlives_the_handle_that_sent_it(fixture: &dyn Fixture) {
    let sender = Player::new(fixture, "sender").await;
    let id = sender.sends("1").await;
    drop(sender);
    let leader = Player::new(fixture, "leader").await;
    let term = leader.wins().await;
    assert_eq!(ids(&leader.receives(term).await), [id]);
}

pub(super) async fn the_same_id_is_the_same_message(fixture: &dyn Fixture) {
    let (sender, other) = (Player::new(fixture, "sender").await, Player::new(fixture, "other").await);
    let first = sender.writes("1");
    sender.sends_all(std::slice::from_ref(&first)).await;
    let id = sender.sends("2").await;
    let again = NewMessage { payload: Arc::from("3"), ..first.clone() };
    other.sends_all(&[again.clone(), again]).await;
    let waiting = sender.lists(MessageState::Pending).await;
    assert_eq!(ids(&waiting), [first.id, id]);
    assert_eq!(payloads(&waiting), ["1", "2"], "the first one counts, and keeps its place");
}

pub(super) async fn the_same_id_in_another_election_is_another_message(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let (here, there) = (one.in_election(key("here")), one.in_election(key("there")));
    let new_message = here.writes("1");
    here.sends_all(&[
        new_message.clone(),
        NewMessage { key: there.key.clone(), payload: Arc::from("2"), ..new_message.clone() },
    ])
    .await;
    let term = here.wins().await;
    here.acks(term, vec![(new_message.id, AckOutcome::Done)]).await;
    assert_eq!(here.lists(MessageState::Pending).await, []);
    assert_eq!(payloads(&there.lists(MessageState::Pending).await), ["2"]);
}

pub(super) async fn an_empty_batch_of_messages_has_no_answers(fixture: &dyn Fixture) {
    assert_eq!(Player::new(fixture, "one").await.mailbox().send(&[]).await.len(), 0);
}

pub(super) async fn messages_keep_their_order(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let mut sent = Vec::new();
    for round in 0..10 {
        sent.push(one.sends(&format!("{round}")).await);
        sent.push(other.sends(&format!("{round}")).await);
    }
    let term = one.wins().await;
    assert_eq!(ids(&one.receives(term).await), sent);
    assert_eq!(ids(&other.lists(MessageState::Pending).await), sent);
}

pub(super) async fn a_batch_of_messages_keeps_its_order(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let batch: Vec<NewMessage> = (0..MANY).map(|number| one.writes(&number.to_string())).collect();
    one.sends_all(&batch).await;
    let term = one.wins().await;
    let expected: Vec<_> = batch.iter().map(|new_message| new_message.id).collect();
    assert_eq!(ids(&one.receives(term).await), expected);
}

pub(super) async fn a_batch_goes_to_several_elections(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let (here, there) = (one.in_election(key("here")), one.in_election(key("there")));
    let batch = [here.writes("1"), there.writes("2"), here.writes("3"), there.writes("4")];
    one.sends_all(&batch).await;
    assert_eq!(payloads(&here.lists(MessageState::Pending).await), ["1", "3"]);
    assert_eq!(payloads(&there.lists(MessageState::Pending).await), ["2", "4"]);
}

pub(super) async fn concurrent_senders_lose_nothing(fixture: &dyn Fixture) {
    const SENDERS: usize = 16;
    const EACH: usize = 20;
    let senders = join_all((0..SENDERS).map(async |index| Player::new(fixture, &format!("{index}")).await)).await;
    let new_message = async |sender: &Player| {
        for number in 0..EACH {
            sender.sends(&number.to_string()).await;
        }
    };
    join_all(senders.iter().map(new_message)).await;
    let leader = Player::new(fixture, "leader").await;
    let term = leader.wins().await;
    let received = leader.receives(term).await;
    assert_eq!(received.len(), SENDERS * EACH);
    let expected: Vec<String> = (0..EACH).map(|number| number.to_string()).collect();
    for sender in &senders {
        let of_sender = received.iter().filter(|message| message.sender.as_str() == sender.candidate.as_str());
        assert_eq!(of_sender.map(|message| &*message.payload).collect::<Vec<_>>(), expected, "{:?}", sender.candidate);
    }
}

pub(super) async fn elections_and_namespaces_do_not_share_messages(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let places = [key("a"), key("b"), key_in("a", "b"), key_in("b", "a"), key_in("a:b", "c"), key_in("a", "b:c")];
    let there = |key: &ElectionKey| one.in_election(key.clone());
    for (number, key) in places.iter().enumerate() {
        there(key).sends(&number.to_string()).await;
    }
    for (number, key) in places.iter().enumerate() {
        let leader = there(key);
        let term = leader.wins().await;
        let received = leader.receives(term).await;
        assert_eq!(payloads(&received), [number.to_string()], "{key}");
        leader.acks(term, vec![(received[0].id, AckOutcome::Done)]).await;
    }
}

pub(super) async fn a_full_line_refuses_more(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let batch: Vec<NewMessage> =
        (0..one.promises().max_pending).map(|number| one.writes(&number.to_string())).collect();
    for part in batch.chunks(MANY) {
        one.sends_all(part).await;
    }
    let refusal = one.is_refused(one.writes("0")).await;
    assert_eq!(refusal.kind(), StoreErrorKind::Full);
    assert_eq!(refusal.write_outcome(), tenure_core::WriteOutcome::Refused, "nothing was written");
    assert!(refusal.to_string().contains(&batch.len().to_string()), "it says how many wait: {refusal}");
    one.sends_all(&batch[..1]).await;
    one.in_election(key("elsewhere")).sends("0").await;
    let term = one.wins().await;
    one.acks(term, vec![(batch[0].id, AckOutcome::Done)]).await;
    one.sends("there is room again").await;
    assert_eq!(one.is_refused(one.writes("0")).await.kind(), StoreErrorKind::Full);
    one.acks(term, vec![(batch[1].id, dead_letter(1, "no"))]).await;
    one.sends("a dead letter takes no room").await;
}

pub(super) async fn an_election_that_messages_wait_for_is_not_forgotten(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let unled = one.in_election(key("unled"));
    unled.sends("1").await;
    let told = unled.store.forget(&unled.key, Duration::ZERO).await.expect("an answer");
    assert_eq!(told, Forgetting::InUse(Use::Messages), "it waits for the first leader");
    assert_eq!(unled.lists(MessageState::Pending).await.len(), 1);
    let term = one.wins().await;
    let id = one.sends("1").await;
    one.resigns(term).await;
    let told = one.store.forget(&one.key, Duration::ZERO).await.expect("an answer");
    assert_eq!(told, Forgetting::InUse(Use::Messages));
    let again = one.again();
    let term = again.wins().await;
    assert_eq!(ids(&again.receives(term).await), [id]);
    again.acks(term, vec![(id, dead_letter(1, "no"))]).await;
    again.resigns(term).await;
    // A dead letter waits for nobody.
    is_gone(&one).await;
    assert_eq!(one.lists(MessageState::DeadLetter).await, []);
}

pub(super) async fn messages_alone_make_no_election(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    one.sends("1").await;
    one.lists(MessageState::Pending).await;
    one.requeues(None).await;
    assert_eq!(one.store.elections(&one.key.namespace).await.expect("a list"), []);
    assert_eq!(one.observes().await, tenure_store::Observation::default());
    assert_eq!(one.store.history(&one.key, 10).await.expect("a history"), []);
}

pub(super) async fn messages_disturb_no_election(fixture: &dyn Fixture) {
    let (leader, waiting) = (Player::new(fixture, "leader").await, Player::new(fixture, "waiting").await);
    let term = leader.wins().await;
    waiting.is_kept_out().await;
    let (before, told) = (leader.observes().await, leader.store.history(&leader.key, 10).await.expect("a history"));
    let id = waiting.sends("1").await;
    leader.receives(term).await;
    leader.acks(term, vec![(id, AckOutcome::Done)]).await;
    leader.requeues(None).await;
    let after = leader.observes().await;
    assert_eq!(after.standing_by, before.standing_by);
    assert_eq!((after.last_term, after.reserved_for), (before.last_term, before.reserved_for));
    let (before, after) = (before.lease.expect("a lease"), after.lease.expect("a lease"));
    assert_eq!((&after.leader, after.ttl), (&before.leader, before.ttl));
    assert!(after.remaining <= before.remaining, "messages renew no lease");
    assert_eq!(leader.store.history(&leader.key, 10).await.expect("a history"), told);
    leader.keeps(term).await;
}
