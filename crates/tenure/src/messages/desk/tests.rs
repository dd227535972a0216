use std::sync::Arc;

use super::*;
use crate::reason::REASON_CHARS_MAX;
use crate::retry::RETRY_FIRST;

const NOW: Policy = Policy { now: Instant::ZERO, attempts_max: 3, spread: u32::MAX };

fn term(number: u64) -> Term {
    Term::new(number).unwrap()
}

fn channel(name: &str) -> ChannelName {
    ChannelName::new(name).unwrap()
}

fn message(id: u128, name: &str, sender: &str) -> Message {
    Message {
        id: MessageId::from_bits(id),
        channel: channel(name),
        sender: Sender::new(sender).unwrap(),
        payload: Arc::from("null"),
        sent_at_unix_ms: 0,
        attempts: 0,
        last_error: None,
    }
}

/// A desk in its first term, with these channels open.
fn desk(channels: &[&str]) -> Desk<u32> {
    let mut desk = Desk::default();
    channels.iter().for_each(|name| desk.open(&channel(name)));
    desk.begin(term(1));
    desk
}

/// Hands out the next message and returns its id.
fn take(desk: &mut Desk<u32>, name: &str) -> Option<Message> {
    desk.take(&channel(name))
}

fn id_of(message: Option<&Message>) -> Option<u128> {
    message.map(|message| message.id.to_bits())
}

#[test]
fn one_message_of_a_line_at_a_time_and_in_order() {
    let mut desk = desk(&["a"]);
    desk.arrived(vec![message(1, "a", "x"), message(2, "a", "x"), message(3, "a", "y")], false);
    let first = take(&mut desk, "a").unwrap();
    let other = take(&mut desk, "a");
    assert_eq!((first.id.to_bits(), id_of(other.as_ref())), (1, Some(3)), "another sender need not wait");
    assert_eq!(take(&mut desk, "a"), None);
    assert_eq!(desk.finish(term(1), &first, Outcome::Done, Some(7), NOW), None);
    assert_eq!(id_of(take(&mut desk, "a").as_ref()), Some(2));
    assert_eq!(desk.tell(), [(first.id, Fate::Done)]);
    assert_eq!(desk.told(), [7]);
    assert_eq!(desk.tell(), []);
}

#[test]
fn a_line_is_asked_for_again_only_when_the_store_knows_that_it_is_settled() {
    let mut desk = desk(&["a"]);
    assert_eq!(desk.ask(), Some((vec![channel("a")], vec![])));
    assert!(!desk.wants_look());
    desk.arrived(vec![message(1, "a", "x")], false);
    let first = take(&mut desk, "a").unwrap();
    desk.finish(term(1), &first, Outcome::Done, None, NOW);
    desk.look();
    assert_eq!(desk.ask().unwrap().1.len(), 1, "its verdict is not told yet");
    desk.tell();
    desk.untold();
    assert_eq!(desk.tell().len(), 1, "told again");
    assert!(!desk.wants_look());
    desk.told();
    assert!(desk.wants_look(), "it was skipped, so something may have come meanwhile");
    assert_eq!(desk.ask().unwrap().1, []);
}

#[test]
fn a_failed_message_holds_back_its_line_only_and_is_tried_again_later() {
    let mut desk = desk(&["a"]);
    desk.arrived(vec![message(1, "a", "x"), message(2, "a", "x"), message(3, "a", "y")], false);
    let first = take(&mut desk, "a").unwrap();
    assert_eq!(desk.finish(term(1), &first, Outcome::Failed("no".to_owned()), None, NOW), None);
    assert_eq!(desk.tell(), [(first.id, Fate::Failed { attempt: 1, why: "no".to_owned() })]);
    desk.told();
    assert_eq!(id_of(take(&mut desk, "a").as_ref()), Some(3));
    let at = desk.next_retry().unwrap();
    assert_eq!(at.saturating_since(Instant::ZERO), RETRY_FIRST);
    desk.ripen(Instant::ZERO);
    assert!(!desk.has_ready(&channel("a")));
    desk.ripen(at);
    let again = take(&mut desk, "a").unwrap();
    assert_eq!((again.id, again.attempts, again.last_error.as_deref()), (first.id, 1, Some("no")));
    assert_eq!(desk.next_retry(), None);
}

#[test]
fn after_the_last_attempt_a_message_is_set_aside_and_the_next_one_comes() {
    let mut desk = desk(&["a"]);
    let tried = Message { attempts: 2, ..message(1, "a", "x") };
    desk.arrived(vec![tried, message(2, "a", "x")], false);
    let first = take(&mut desk, "a").unwrap();
    let given_up = desk.finish(term(1), &first, Outcome::Failed("no".to_owned()), None, NOW).unwrap();
    assert_eq!((given_up.id, given_up.attempts, given_up.why.as_str()), (first.id, 3, "no"));
    assert_eq!(desk.tell(), [(first.id, Fate::SetAside { attempt: 3, why: "no".to_owned() })]);
    assert_eq!(id_of(take(&mut desk, "a").as_ref()), Some(2));
}

#[test]
fn an_interrupted_message_counts_as_untried() {
    let mut desk = desk(&["a"]);
    desk.arrived(vec![message(1, "a", "x")], false);
    let first = take(&mut desk, "a").unwrap();
    desk.finish(term(1), &first, Outcome::Interrupted, None, NOW);
    assert_eq!(desk.tell(), []);
    assert_eq!(take(&mut desk, "a"), Some(first));
}

#[test]
fn a_term_that_ended_leaves_nothing_behind() {
    let mut desk = desk(&["a"]);
    desk.arrived(vec![message(1, "a", "x"), message(2, "a", "y")], false);
    let (one, other) = (take(&mut desk, "a").unwrap(), take(&mut desk, "a").unwrap());
    desk.finish(term(1), &one, Outcome::Done, Some(7), NOW);
    assert_eq!(desk.end(), [7]);
    desk.begin(term(2));
    desk.arrived(vec![other.clone()], false);
    let again = take(&mut desk, "a").unwrap();
    desk.finish(term(1), &other, Outcome::Done, None, NOW);
    assert_eq!(desk.tell(), [], "a verdict of an earlier term says nothing in this one");
    desk.finish(term(2), &again, Outcome::Done, None, NOW);
    assert_eq!(desk.tell().len(), 1);
}

#[test]
fn a_verdict_that_comes_twice_is_told_once() {
    let mut desk = desk(&["a"]);
    desk.arrived(vec![message(1, "a", "x")], false);
    let first = take(&mut desk, "a").unwrap();
    desk.finish(term(1), &first, Outcome::Done, None, NOW);
    desk.finish(term(1), &first, Outcome::Failed("late".to_owned()), None, NOW);
    assert_eq!(desk.tell(), [(first.id, Fate::Done)]);
}

#[test]
fn a_channel_that_nobody_empties_is_not_asked_for_while_others_are() {
    let mut desk = desk(&["a", "b"]);
    let many = (0..HELD_PER_CHANNEL).map(|id| message(id as u128, "a", &format!("sender {id}")));
    desk.arrived(many.collect(), true);
    let (channels, except) = desk.ask().unwrap();
    assert_eq!((channels, except.len()), (vec![channel("b")], HELD_PER_CHANNEL));
    assert!(desk.wants_look(), "it is asked for as soon as there is room");
}

#[test]
fn a_closed_channel_gives_back_what_was_not_handed_out() {
    let mut desk = desk(&["a", "b"]);
    desk.arrived(vec![message(1, "a", "x"), message(2, "a", "x"), message(3, "a", "y"), message(4, "b", "x")], false);
    let first = take(&mut desk, "a").unwrap();
    desk.close(&channel("a"));
    desk.open(&channel("a"));
    let (channels, except) = desk.ask().unwrap();
    assert_eq!(channels.len(), 2);
    assert_eq!(except.len(), 2, "what is in somebody's hands, and the other channel");
    desk.finish(term(1), &first, Outcome::Done, None, NOW);
    assert_eq!(desk.tell(), [(first.id, Fate::Done)]);
    desk.told();
    assert!(desk.wants_look());
    assert_eq!(take(&mut desk, "a"), None);
}

#[test]
fn senders_take_turns() {
    let mut desk = desk(&["a"]);
    let order = [(1, "x"), (2, "x"), (3, "x"), (4, "y"), (5, "y")];
    desk.arrived(order.map(|(id, sender)| message(id, "a", sender)).into(), false);
    let mut handed_out = Vec::new();
    while let Some(next) = take(&mut desk, "a") {
        handed_out.push(next.id.to_bits());
        desk.finish(term(1), &next, Outcome::Done, None, NOW);
    }
    assert_eq!(handed_out, [1, 4, 2, 5, 3]);
}

#[test]
fn a_reason_is_cut_and_holds_nothing_that_a_store_refuses() {
    let mut desk = desk(&["a"]);
    desk.arrived(vec![message(1, "a", "x")], false);
    let first = take(&mut desk, "a").unwrap();
    desk.finish(term(1), &first, Outcome::Failed(format!("a\0b{}", "é".repeat(5_000))), None, NOW);
    let [(_, Fate::Failed { why, .. })] = &desk.tell()[..] else { panic!("one failure") };
    assert!(why.starts_with("a\u{fffd}bé"), "{why}");
    assert_eq!(why.chars().count(), REASON_CHARS_MAX);
}
