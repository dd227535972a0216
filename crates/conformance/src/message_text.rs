//! Whatever is written arrives as it was written.

use tenure_core::{MAX_CHANNEL_BYTES, WriteOutcome};
use tenure_store::mailbox::AckOutcome;
use tenure_store::{MessageId, MessageState, NewMessage, StoreErrorKind};

use super::Fixture;
use super::correspondence::{CHANNEL, ids, line, payloads};
use super::names::odd_names;
use super::player::{Player, id};

/// JSON that somebody might be tempted to read.
pub(super) fn odd_payloads() -> Vec<String> {
    let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
    [
        "null",
        "true",
        "-0.0",
        "1e400",
        "12345678901234567890123456789012345678901234567890",
        "\"\"",
        r#""\u0000""#,
        r#""\ud83e\udd80 \ud800""#,
        "\"🦀 straße e\u{301} \u{202e}\"",
        "\"it's 'quoted' \\\"twice\\\" \\\\\"",
        r#"{"b":1,"a":2,"b":3}"#,
        "{ \"spaces\" :\t[ 1 ,\r\n 2 ] }\n",
        r#""'); DROP TABLE messages; --""#,
        r#""]] .. redis.call('FLUSHALL') .. [[ %s %n {tag} $1""#,
        &nested,
    ]
    .map(str::to_owned)
    .into()
}

pub(super) async fn odd_payloads_are_kept_byte_by_byte(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let payloads_sent = odd_payloads();
    let batch: Vec<NewMessage> = payloads_sent.iter().map(|payload| one.writes(payload)).collect();
    one.sends_all(&batch).await;
    let term = one.wins().await;
    assert_eq!(payloads(&one.receives(term).await), payloads_sent);
    assert_eq!(payloads(&one.lists(MessageState::Pending).await), payloads_sent);
}

pub(super) async fn the_largest_payload_is_kept_and_a_larger_one_refused(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let max = one.promises().max_payload;
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let batch = [one.writes("1"), one.writes(&text(max + 1)), one.writes(&text(max))];
    let mut replies = one.mailbox().send(&batch).await;
    assert_eq!(replies.len(), 3);
    assert!(replies[0].is_ok() && replies[2].is_ok(), "the others are not concerned: {replies:?}");
    let refusal = replies.remove(1).expect_err("too large");
    assert_eq!((refusal.kind(), refusal.write_outcome()), (StoreErrorKind::TooLarge, WriteOutcome::Refused));
    assert!(refusal.to_string().contains(&max.to_string()), "it says how much is allowed: {refusal}");
    assert_eq!(payloads(&one.lists(MessageState::Pending).await), ["1", text(max).as_str()]);
}

pub(super) async fn odd_channels_are_kept_byte_by_byte_and_apart(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let longest = ["x".repeat(MAX_CHANNEL_BYTES), format!("{}x", "🦀".repeat(15))];
    let channels: Vec<String> =
        odd_names().into_iter().filter(|name| name.len() <= MAX_CHANNEL_BYTES).chain(longest).collect();
    let batch: Vec<NewMessage> = channels.iter().map(|channel| one.writes_on(channel, "1")).collect();
    one.sends_all(&batch).await;
    let term = one.wins().await;
    for (name, new_message) in channels.iter().zip(&batch) {
        let request = tenure_store::Receive { channels: vec![new_message.channel.clone()], ..one.as_receipt(term) };
        let received = one.is_given(&request).await;
        assert_eq!(ids(&received), [new_message.id], "{name:?} is a channel of its own");
        assert_eq!(received[0].channel.as_str(), name);
    }
}

pub(super) async fn odd_senders_are_kept_byte_by_byte_and_apart(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let senders = odd_names();
    let by = |name: &String| Player { candidate: id(name), ..one.clone() };
    let batch: Vec<NewMessage> = senders.iter().map(|name| by(name).writes("1")).collect();
    one.sends_all(&batch).await;
    let term = one.wins().await;
    let received = one.receives(term).await;
    assert_eq!(received.iter().map(|message| message.sender.as_str()).collect::<Vec<_>>(), senders);
    for (index, name) in senders.iter().enumerate() {
        let request = tenure_store::Receive { except: vec![line(CHANNEL, name)], ..one.as_receipt(term) };
        let mut others = ids(&received);
        others.remove(index);
        assert_eq!(ids(&one.is_given(&request).await), others, "{name:?} is a sender of its own");
    }
}

pub(super) async fn odd_reasons_are_kept(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    for why in ["", "it's \"odd\"\n\tover\r\ntwo lines 🦀", "x'); --"] {
        let id = one.sends("1").await;
        one.acks(term, vec![(id, AckOutcome::Failed { attempt: 1, why: why.to_owned() })]).await;
        assert_eq!(one.receives(term).await[0].last_error.as_deref(), Some(why));
        one.acks(term, vec![(id, AckOutcome::DeadLettered { attempt: 2, why: why.to_owned() })]).await;
        assert_eq!(
            one.lists(MessageState::DeadLetter).await.last().expect("it lies there").last_error.as_deref(),
            Some(why)
        );
    }
}

pub(super) async fn all_bits_of_an_id_count(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let bits = (0..128).map(|bit| 1_u128 << bit).chain([0, u128::MAX]);
    let new_message = |bits: u128| NewMessage { id: MessageId::from_bits(bits), ..one.writes("1") };
    let batch: Vec<NewMessage> = bits.map(new_message).collect();
    one.sends_all(&batch).await;
    let expected: Vec<MessageId> = batch.iter().map(|new_message| new_message.id).collect();
    assert_eq!(ids(&one.lists(MessageState::Pending).await), expected);
    let term = one.wins().await;
    one.acks(term, vec![(expected[0], AckOutcome::Done), (expected[129], AckOutcome::Done)]).await;
    assert_eq!(ids(&one.receives(term).await), expected[1..129]);
}
