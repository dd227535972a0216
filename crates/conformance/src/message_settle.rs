//! What became of messages: only whoever leads may say it, and it is kept.

use tenure_store::mailbox::AckOutcome;
use tenure_store::{Ack, AckReply, MessageState, random_message_id};

use super::Fixture;
use super::correspondence::{dead_letter, failed, ids};
use super::player::{Player, fresh_nonce, pass};

pub(super) async fn a_message_that_was_handled_is_gone(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let (first, second) = (one.sends("1").await, one.sends("2").await);
    let term = one.wins().await;
    one.acks(term, vec![(first, AckOutcome::Done)]).await;
    assert_eq!(ids(&one.receives(term).await), [second]);
    assert_eq!(ids(&one.lists(MessageState::Pending).await), [second]);
    assert_eq!(one.lists(MessageState::DeadLetter).await, []);
}

pub(super) async fn settling_needs_nonce_and_term(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let id = one.sends("1").await;
    let term = one.wins().await;
    let later = tenure_core::Term::after(Some(term)).expect("a term");
    for outcome in [AckOutcome::Done, failed(1, "no"), dead_letter(1, "no")] {
        let right = one.as_verdict(term, vec![(id, outcome)]);
        assert_eq!(one.says(&Ack { nonce: fresh_nonce(), ..right.clone() }).await, AckReply::NotHolder);
        assert_eq!(one.says(&Ack { term: later, ..right }).await, AckReply::NotHolder);
    }
    let waiting = one.receives(term).await;
    assert_eq!((ids(&waiting), waiting[0].attempts), (vec![id], 0), "nothing was changed");
}

pub(super) async fn an_expired_holder_settles_nothing(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let id = one.sends("1").await;
    let term = one.wins().await;
    pass(fixture, one.ttl).await;
    assert_eq!(one.says(&one.as_verdict(term, vec![(id, AckOutcome::Done)])).await, AckReply::NotHolder);
    assert_eq!(ids(&one.lists(MessageState::Pending).await), [id]);
}

pub(super) async fn a_stale_leader_settles_nothing(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let id = one.sends("1").await;
    let stale = one.wins().await;
    one.resigns(stale).await;
    let verdict = one.as_verdict(stale, vec![(id, AckOutcome::Done)]);
    assert_eq!(one.says(&verdict).await, AckReply::NotHolder, "it has resigned");
    let term = other.wins().await;
    assert_eq!(one.says(&verdict).await, AckReply::NotHolder, "somebody else leads");
    assert_eq!(ids(&other.receives(term).await), [id]);
}

pub(super) async fn an_earlier_term_of_the_same_nonce_settles_nothing(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let id = one.sends("1").await;
    let stale = one.wins().await;
    one.resigns(stale).await;
    let term = one.wins().await;
    assert_eq!(one.says(&one.as_verdict(stale, vec![(id, AckOutcome::Done)])).await, AckReply::NotHolder);
    assert_eq!(ids(&one.receives(term).await), [id]);
}

pub(super) async fn the_next_leader_receives_what_was_not_settled(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    let sent = [one.sends("1").await, one.sends("2").await, other.sends("3").await];
    let term = one.wins().await;
    assert_eq!(ids(&one.receives(term).await), sent);
    one.acks(term, vec![(sent[1], AckOutcome::Done)]).await;
    pass(fixture, one.ttl).await;
    let term = other.wins().await;
    assert_eq!(ids(&other.receives(term).await), [sent[0], sent[2]]);
}

pub(super) async fn a_failed_message_keeps_its_place(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let sent = [one.sends("1").await, one.sends("2").await];
    let term = one.wins().await;
    one.acks(term, vec![(sent[0], failed(1, "no such table"))]).await;
    let received = one.receives(term).await;
    assert_eq!(ids(&received), sent);
    assert_eq!((received[0].attempts, received[0].last_error.as_deref()), (1, Some("no such table")));
    assert_eq!((received[1].attempts, received[1].last_error.as_deref()), (0, None));
    assert_eq!(one.lists(MessageState::Pending).await, received);
}

pub(super) async fn attempts_and_reasons_outlast_the_leader(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let id = one.sends("1").await;
    let term = one.wins().await;
    one.acks(term, vec![(id, failed(1, "first"))]).await;
    one.acks(term, vec![(id, failed(2, "second"))]).await;
    one.resigns(term).await;
    let term = other.wins().await;
    let received = other.receives(term).await;
    assert_eq!((received[0].attempts, received[0].last_error.as_deref()), (2, Some("second")));
}

pub(super) async fn a_failure_told_twice_counts_once(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let id = one.sends("1").await;
    let term = one.wins().await;
    for attempt in [2, 2, 1] {
        one.acks(term, vec![(id, failed(attempt, "no"))]).await;
    }
    assert_eq!(one.receives(term).await[0].attempts, 2);
}

pub(super) async fn settling_what_is_gone_changes_nothing(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let (gone, dead, there) = (one.sends("1").await, one.sends("2").await, one.sends("3").await);
    let term = one.wins().await;
    one.acks(term, vec![(gone, AckOutcome::Done), (dead, dead_letter(1, "no"))]).await;
    for outcome in [AckOutcome::Done, failed(7, "late"), dead_letter(7, "late")] {
        let outcomes = [gone, dead, random_message_id()].map(|id| (id, outcome.clone()));
        one.acks(term, outcomes.into()).await;
    }
    one.acks(term, Vec::new()).await;
    assert_eq!(ids(&one.lists(MessageState::Pending).await), [there]);
    let state = one.lists(MessageState::DeadLetter).await;
    assert_eq!((ids(&state), state[0].attempts, state[0].last_error.as_deref()), (vec![dead], 1, Some("no")));
}

pub(super) async fn many_messages_are_settled_at_once(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let batch: Vec<_> = (0..300).map(|number| one.writes(&number.to_string())).collect();
    one.sends_all(&batch).await;
    let term = one.wins().await;
    let outcome = |index: usize| match index % 3 {
        0 => AckOutcome::Done,
        1 => failed(1, "no"),
        _ => dead_letter(1, "no"),
    };
    let outcomes = batch.iter().enumerate().map(|(index, new_message)| (new_message.id, outcome(index)));
    one.acks(term, outcomes.collect()).await;
    let every_third =
        |from: usize| batch.iter().skip(from).step_by(3).map(|new_message| new_message.id).collect::<Vec<_>>();
    let waiting = one.receives(term).await;
    assert_eq!(ids(&waiting), every_third(1));
    assert!(waiting.iter().all(|message| message.attempts == 1));
    assert_eq!(ids(&one.lists(MessageState::DeadLetter).await), every_third(2));
}
