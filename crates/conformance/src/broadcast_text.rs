//! Any payload arrives exactly as it was sent.

use tenure_core::{MAX_CHANNEL_BYTES, MAX_NAME_BYTES, WriteOutcome};
use tenure_store::{Broadcast, MessageId, StoreErrorKind};

use super::Fixture;
use super::message_text::odd_payloads;
use super::names::odd_names;
use super::player::{Player, id, key};

pub(super) async fn odd_payloads_are_heard_byte_by_byte(fixture: &dyn Fixture) {
    let (one, speaker) = (Player::new(fixture, "one").await, Player::new(fixture, "speaker").await);
    let mut listener = one.listens().await;
    let batch: Vec<Broadcast> = odd_payloads().iter().map(|payload| speaker.announces(payload)).collect();
    speaker.proclaims(&batch).await;
    assert_eq!(listener.hears_many(batch.len()).await, batch);
}

pub(super) async fn the_largest_broadcast_is_heard_and_a_larger_one_refused(fixture: &dyn Fixture) {
    // The names take as much room as they can.
    let one = Player::new(fixture, &"x".repeat(MAX_NAME_BYTES)).await;
    let one = one.in_election(key(&"e".repeat(MAX_NAME_BYTES)));
    let mut listener = one.listens().await;
    let max = one.pubsub().promises().max_payload;
    let announce = |payload: &str| one.announces_on(&"c".repeat(MAX_CHANNEL_BYTES), payload);
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let wide = format!("\"{}{}\"", "🦀".repeat((max - 2) / 4), "x".repeat((max - 2) % 4));
    let batch = [announce("1"), announce(&text(max + 1)), announce(&text(max)), announce(&wide)];
    let mut replies = one.pubsub().broadcast(&batch).await;
    assert_eq!(replies.len(), 4);
    let refusal = replies.remove(1).expect_err("too large");
    assert!(replies.iter().all(Result::is_ok), "the others are not concerned: {replies:?}");
    assert_eq!((refusal.kind(), refusal.write_outcome()), (StoreErrorKind::TooLarge, WriteOutcome::Refused));
    assert!(refusal.to_string().contains(&max.to_string()), "it says how much is allowed: {refusal}");
    let [first, _, second, third] = batch;
    assert_eq!(listener.hears_many(3).await, [first, second, third]);
}

pub(super) async fn odd_channels_and_senders_are_heard_byte_by_byte(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let mut listener = one.listens().await;
    let mut batch: Vec<Broadcast> = Vec::new();
    for name in odd_names() {
        let speaker = Player { candidate: id(&name), ..one.clone() };
        let channel = if name.len() <= MAX_CHANNEL_BYTES { &*name } else { "refresh" };
        batch.push(speaker.announces_on(channel, "1"));
    }
    one.proclaims(&batch).await;
    assert_eq!(listener.hears_many(batch.len()).await, batch);
}

pub(super) async fn odd_elections_are_listened_to_apart(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let mut listeners = Vec::new();
    for name in odd_names() {
        let one = one.in_election(key(&name));
        let listener = one.listens().await;
        listeners.push((one, listener));
    }
    for (one, listener) in &mut listeners {
        let said = one.tells_all("1").await;
        assert_eq!(listener.hears().await, said);
    }
    for (one, listener) in &mut listeners {
        listener.hears_only(one).await;
    }
}

pub(super) async fn all_bits_of_the_id_of_a_broadcast_count(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let mut listener = one.listens().await;
    let bits = (0..128).map(|bit| 1_u128 << bit).chain([0, u128::MAX]);
    let announce = |bits: u128| Broadcast { id: MessageId::from_bits(bits), ..one.announces("1") };
    let batch: Vec<Broadcast> = bits.map(announce).collect();
    one.proclaims(&batch).await;
    assert_eq!(listener.hears_many(batch.len()).await, batch);
}
