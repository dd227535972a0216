use std::sync::Arc;

use super::*;
use crate::reason::REASON_CHARS_MAX;
use crate::retry::RETRY_FIRST;

const NOW: RetryPolicy = RetryPolicy { now: Instant::ZERO, max_attempts: 3, spread: u32::MAX };

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

/// An inbox in its first term, with these channels open.
fn term_inbox(channels: &[&str]) -> TermInbox<u32> {
    let mut term_inbox = TermInbox::default();
    channels.iter().for_each(|name| term_inbox.open(&channel(name)));
    term_inbox.begin(term(1));
    term_inbox
}

/// Hands out the next message and returns its id.
fn take(term_inbox: &mut TermInbox<u32>, name: &str) -> Option<Message> {
    term_inbox.take(&channel(name))
}

fn id_of(message: Option<&Message>) -> Option<u128> {
    message.map(|message| message.id.to_bits())
}

#[test]
fn one_message_of_a_line_at_a_time_and_in_order() {
    let mut term_inbox = term_inbox(&["a"]);
    term_inbox.arrived(vec![message(1, "a", "x"), message(2, "a", "x"), message(3, "a", "y")], false);
    let first = take(&mut term_inbox, "a").unwrap();
    let other = take(&mut term_inbox, "a");
    assert_eq!((first.id.to_bits(), id_of(other.as_ref())), (1, Some(3)), "another sender need not wait");
    assert_eq!(take(&mut term_inbox, "a"), None);
    assert_eq!(term_inbox.finish(term(1), &first, HandlingOutcome::Done, Some(7), NOW), None);
    assert_eq!(id_of(take(&mut term_inbox, "a").as_ref()), Some(2));
    assert_eq!(term_inbox.tell(), [(first.id, AckOutcome::Done)]);
    assert_eq!(term_inbox.told(), [7]);
    assert_eq!(term_inbox.tell(), []);
}

#[test]
fn a_line_is_asked_for_again_only_when_the_store_knows_that_it_is_settled() {
    let mut term_inbox = term_inbox(&["a"]);
    assert_eq!(term_inbox.ask(), Some((vec![channel("a")], vec![])));
    assert!(!term_inbox.wants_look());
    term_inbox.arrived(vec![message(1, "a", "x")], false);
    let first = take(&mut term_inbox, "a").unwrap();
    term_inbox.finish(term(1), &first, HandlingOutcome::Done, None, NOW);
    term_inbox.look();
    assert_eq!(term_inbox.ask().unwrap().1.len(), 1, "its verdict is not told yet");
    term_inbox.tell();
    term_inbox.untold();
    assert_eq!(term_inbox.tell().len(), 1, "told again");
    assert!(!term_inbox.wants_look());
    term_inbox.told();
    assert!(term_inbox.wants_look(), "it was skipped, so something may have come meanwhile");
    assert_eq!(term_inbox.ask().unwrap().1, []);
}

#[test]
fn a_failed_message_holds_back_its_line_only_and_is_tried_again_later() {
    let mut term_inbox = term_inbox(&["a"]);
    term_inbox.arrived(vec![message(1, "a", "x"), message(2, "a", "x"), message(3, "a", "y")], false);
    let first = take(&mut term_inbox, "a").unwrap();
    assert_eq!(term_inbox.finish(term(1), &first, HandlingOutcome::Failed("no".to_owned()), None, NOW), None);
    assert_eq!(term_inbox.tell(), [(first.id, AckOutcome::Failed { attempt: 1, why: "no".to_owned() })]);
    term_inbox.told();
    assert_eq!(id_of(take(&mut term_inbox, "a").as_ref()), Some(3));
    let at = term_inbox.next_retry().unwrap();
    assert_eq!(at.saturating_since(Instant::ZERO), RETRY_FIRST);
    term_inbox.ripen(Instant::ZERO);
    assert!(!term_inbox.has_ready(&channel("a")));
    term_inbox.ripen(at);
    let again = take(&mut term_inbox, "a").unwrap();
    assert_eq!((again.id, again.attempts, again.last_error.as_deref()), (first.id, 1, Some("no")));
    assert_eq!(term_inbox.next_retry(), None);
}

#[test]
fn after_the_last_attempt_a_message_is_set_aside_and_the_next_one_comes() {
    let mut term_inbox = term_inbox(&["a"]);
    let tried = Message { attempts: 2, ..message(1, "a", "x") };
    term_inbox.arrived(vec![tried, message(2, "a", "x")], false);
    let first = take(&mut term_inbox, "a").unwrap();
    let given_up = term_inbox.finish(term(1), &first, HandlingOutcome::Failed("no".to_owned()), None, NOW).unwrap();
    assert_eq!((given_up.id, given_up.attempts, given_up.why.as_str()), (first.id, 3, "no"));
    assert_eq!(term_inbox.tell(), [(first.id, AckOutcome::DeadLettered { attempt: 3, why: "no".to_owned() })]);
    assert_eq!(id_of(take(&mut term_inbox, "a").as_ref()), Some(2));
}

#[test]
fn an_interrupted_message_counts_as_untried() {
    let mut term_inbox = term_inbox(&["a"]);
    term_inbox.arrived(vec![message(1, "a", "x")], false);
    let first = take(&mut term_inbox, "a").unwrap();
    term_inbox.finish(term(1), &first, HandlingOutcome::Interrupted, None, NOW);
    assert_eq!(term_inbox.tell(), []);
    assert_eq!(take(&mut term_inbox, "a"), Some(first));
}

#[test]
fn a_term_that_ended_leaves_nothing_behind() {
    let mut term_inbox = term_inbox(&["a"]);
    term_inbox.arrived(vec![message(1, "a", "x"), message(2, "a", "y")], false);
    let (one, other) = (take(&mut term_inbox, "a").unwrap(), take(&mut term_inbox, "a").unwrap());
    term_inbox.finish(term(1), &one, HandlingOutcome::Done, Some(7), NOW);
    assert_eq!(term_inbox.end(), [7]);
    term_inbox.begin(term(2));
    term_inbox.arrived(vec![other.clone()], false);
    let again = take(&mut term_inbox, "a").unwrap();
    term_inbox.finish(term(1), &other, HandlingOutcome::Done, None, NOW);
    assert_eq!(term_inbox.tell(), [], "a verdict of an earlier term says nothing in this one");
    term_inbox.finish(term(2), &again, HandlingOutcome::Done, None, NOW);
    assert_eq!(term_inbox.tell().len(), 1);
}

#[test]
fn a_verdict_that_comes_twice_is_told_once() {
    let mut term_inbox = term_inbox(&["a"]);
    term_inbox.arrived(vec![message(1, "a", "x")], false);
    let first = take(&mut term_inbox, "a").unwrap();
    term_inbox.finish(term(1), &first, HandlingOutcome::Done, None, NOW);
    term_inbox.finish(term(1), &first, HandlingOutcome::Failed("late".to_owned()), None, NOW);
    assert_eq!(term_inbox.tell(), [(first.id, AckOutcome::Done)]);
}

#[test]
fn a_channel_that_nobody_empties_is_not_asked_for_while_others_are() {
    let mut term_inbox = term_inbox(&["a", "b"]);
    let many = (0..HELD_PER_CHANNEL).map(|id| message(id as u128, "a", &format!("sender {id}")));
    term_inbox.arrived(many.collect(), true);
    let (channels, except) = term_inbox.ask().unwrap();
    assert_eq!((channels, except.len()), (vec![channel("b")], HELD_PER_CHANNEL));
    assert!(term_inbox.wants_look(), "it is asked for as soon as there is room");
}

#[test]
fn a_closed_channel_gives_back_what_was_not_handed_out() {
    let mut term_inbox = term_inbox(&["a", "b"]);
    term_inbox
        .arrived(vec![message(1, "a", "x"), message(2, "a", "x"), message(3, "a", "y"), message(4, "b", "x")], false);
    let first = take(&mut term_inbox, "a").unwrap();
    term_inbox.close(&channel("a"));
    term_inbox.open(&channel("a"));
    let (channels, except) = term_inbox.ask().unwrap();
    assert_eq!(channels.len(), 2);
    assert_eq!(except.len(), 2, "what is in somebody's hands, and the other channel");
    term_inbox.finish(term(1), &first, HandlingOutcome::Done, None, NOW);
    assert_eq!(term_inbox.tell(), [(first.id, AckOutcome::Done)]);
    term_inbox.told();
    assert!(term_inbox.wants_look());
    assert_eq!(take(&mut term_inbox, "a"), None);
}

#[test]
fn senders_take_turns() {
    let mut term_inbox = term_inbox(&["a"]);
    let order = [(1, "x"), (2, "x"), (3, "x"), (4, "y"), (5, "y")];
    term_inbox.arrived(order.map(|(id, sender)| message(id, "a", sender)).into(), false);
    let mut handed_out = Vec::new();
    while let Some(next) = take(&mut term_inbox, "a") {
        handed_out.push(next.id.to_bits());
        term_inbox.finish(term(1), &next, HandlingOutcome::Done, None, NOW);
    }
    assert_eq!(handed_out, [1, 4, 2, 5, 3]);
}

#[test]
fn a_reason_is_cut_and_holds_nothing_that_a_store_refuses() {
    let mut term_inbox = term_inbox(&["a"]);
    term_inbox.arrived(vec![message(1, "a", "x")], false);
    let first = take(&mut term_inbox, "a").unwrap();
    term_inbox.finish(term(1), &first, HandlingOutcome::Failed(format!("a\0b{}", "é".repeat(5_000))), None, NOW);
    let [(_, AckOutcome::Failed { why, .. })] = &term_inbox.tell()[..] else { panic!("one failure") };
    assert!(why.starts_with("a\u{fffd}bé"), "{why}");
    assert_eq!(why.chars().count(), REASON_CHARS_MAX);
}
