use std::sync::Arc;

use super::*;
use crate::election::input::WriteOutcome;
use crate::id::{ElectionName, Namespace, Sender};
use crate::messages::{AckReply, Message, MessageId, OrderingKey, Received};
use crate::{Backoff, MAX_REASON_CHARS};

const PER_CHANNEL: usize = 4;

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

/// An inbox, and whoever drives it.
struct Driven {
    inbox: LeaderInbox,
    now: Instant,
    leads: Option<Term>,
    outputs: Vec<InboxOutput>,
    alarm: Option<Instant>,
}

impl Driven {
    /// In its first term, with these channels open. The mailbox was asked for messages and has not answered.
    fn with(channels: &[&str]) -> Self {
        let key = ElectionKey { namespace: Namespace::default(), name: ElectionName::new("mail").unwrap() };
        let limits = InboxLimits { held_per_channel: PER_CHANNEL, received_together: 64, told_together: 500 };
        let inbox = LeaderInbox::new(key, 3).with_limits(limits);
        let mut driven = Self { inbox, now: Instant::from_nanos(1), leads: None, outputs: Vec::new(), alarm: None };
        channels.iter().for_each(|name| driven.handle(InboxInput::Opened { channel: channel(name) }));
        driven.elect(1);
        driven
    }

    fn elect(&mut self, number: u64) {
        self.leads = Some(term(number));
        let timing = Timing::from_ttl(Duration::from_secs(30)).unwrap();
        self.handle(InboxInput::Elected { nonce: Nonce::from_bits(number.into()), term: term(number), timing });
    }

    fn handle(&mut self, input: InboxInput) {
        let moment = InboxMoment { now: self.now, leads: self.leads, spread: u32::MAX, pushes: true };
        self.inbox.handle(moment, input);
        self.alarm = loop {
            let output = self.inbox.poll_output();
            if let InboxOutput::Timeout(alarm) = output {
                break alarm;
            }
            self.outputs.push(output);
        };
    }

    /// Goes on to the next alarm.
    fn sleep(&mut self) {
        self.now = self.alarm.unwrap();
        self.handle(InboxInput::Timeout);
    }

    /// What the mailbox was asked last, if it was asked since somebody last looked.
    fn asked(&mut self) -> Option<(MailboxCallId, MailboxCall)> {
        let calls = self.outputs.extract_if(.., |output| matches!(output, InboxOutput::Call { .. }));
        let last = calls.last()?;
        let InboxOutput::Call { id, call } = last else { return None };
        Some((id, call))
    }

    /// Answers the question for messages that is under way. Returns on which channels, and except which lines.
    fn receives(&mut self, messages: Vec<Message>) -> (Vec<ChannelName>, Vec<OrderingKey>) {
        let Some((call, MailboxCall::Receive(receive))) = self.asked() else { panic!("it asks for none") };
        let reply = MailboxReply::Received(Ok(Received::Messages(messages)));
        self.handle(InboxInput::Reply { call, reply });
        (receive.channels, receive.except)
    }

    /// The acks that are under way, and under which call.
    fn tells(&mut self) -> (MailboxCallId, Vec<(MessageId, AckOutcome)>) {
        let Some((call, MailboxCall::Ack(ack))) = self.asked() else { panic!("it tells nothing") };
        (call, ack.outcomes)
    }

    /// Accepts them.
    fn accepts(&mut self) -> Vec<(MessageId, AckOutcome)> {
        let (call, outcomes) = self.tells();
        self.handle(InboxInput::Reply { call, reply: MailboxReply::Acked(Ok(AckReply::Accepted { dropped: 0 })) });
        outcomes
    }

    fn take(&mut self, name: &str) -> Option<Message> {
        self.handle(InboxInput::Take { channel: channel(name) });
        let mut delivered = self.outputs.extract_if(.., |output| matches!(output, InboxOutput::Deliver(_)));
        let next = delivered.next()?;
        let InboxOutput::Deliver(message) = next else { return None };
        Some(message)
    }

    fn handled(&mut self, number: u64, message: &Message, outcome: HandlingOutcome) {
        let (line, id) = (message.ordering_key(), message.id);
        self.handle(InboxInput::Handled { term: term(number), line, id, outcome });
    }

    fn fails(&mut self, message: &Message) {
        self.handled(1, message, HandlingOutcome::Failed("no".to_owned()));
    }

    fn said(&mut self, is_meant: impl Fn(&InboxOutput) -> bool) -> usize {
        self.outputs.extract_if(.., |output| is_meant(output)).count()
    }
}

fn id_of(message: Option<Message>) -> Option<u128> {
    message.map(|message| message.id.to_bits())
}

#[test]
fn one_message_of_a_line_at_a_time_and_in_order() {
    let mut driven = Driven::with(&["a"]);
    driven.receives(vec![message(1, "a", "x"), message(2, "a", "x"), message(3, "a", "y")]);
    let first = driven.take("a").unwrap();
    assert_eq!((first.id.to_bits(), id_of(driven.take("a"))), (1, Some(3)), "another sender need not wait");
    assert_eq!(driven.take("a"), None);
    driven.handled(1, &first, HandlingOutcome::Done);
    assert_eq!(id_of(driven.take("a")), Some(2));
    assert_eq!(driven.accepts(), [(first.id, AckOutcome::Done)]);
    assert_eq!(driven.asked().map(|_| ()), None);
}

#[test]
fn the_lease_is_kept_until_the_mailbox_knows_what_was_handled() {
    let mut driven = Driven::with(&["a"]);
    driven.receives(vec![message(1, "a", "x")]);
    let first = driven.take("a").unwrap();
    driven.handled(1, &first, HandlingOutcome::Done);
    assert_eq!(driven.said(|output| matches!(output, InboxOutput::Hold { .. })), 1);
    let is_release = |output: &InboxOutput| matches!(output, InboxOutput::Release { .. });
    assert_eq!(driven.said(is_release), 0);
    driven.leads = None;
    driven.accepts();
    assert_eq!(driven.said(is_release), 1);
}

#[test]
fn a_line_is_asked_for_again_only_when_the_mailbox_knows_that_it_is_settled() {
    let mut driven = Driven::with(&["a"]);
    assert_eq!(driven.receives(vec![message(1, "a", "x")]), (vec![channel("a")], vec![]));
    let first = driven.take("a").unwrap();
    driven.handle(InboxInput::Hint);
    assert_eq!(driven.receives(vec![]).1.len(), 1, "it is in somebody's hands");
    driven.handled(1, &first, HandlingOutcome::Done);
    let (call, _) = driven.tells();
    driven.handle(InboxInput::Reply { call, reply: MailboxReply::Acked(Err(WriteOutcome::Unknown)) });
    assert!(driven.asked().is_none(), "not at once");
    driven.sleep();
    assert_eq!(driven.accepts().len(), 1, "told again");
    assert_eq!(driven.receives(vec![]).1, [], "it was skipped, so something may have come meanwhile");
}

#[test]
fn a_failed_message_holds_back_its_line_only_and_is_tried_again_later() {
    let mut driven = Driven::with(&["a"]);
    driven.receives(vec![message(1, "a", "x"), message(2, "a", "x"), message(3, "a", "y")]);
    let first = driven.take("a").unwrap();
    driven.fails(&first);
    let began = driven.now;
    assert_eq!(driven.accepts(), [(first.id, AckOutcome::Failed { attempt: 1, why: "no".to_owned() })]);
    assert_eq!(id_of(driven.take("a")), Some(3));
    assert_eq!(driven.take("a"), None);
    driven.sleep();
    assert_eq!(driven.now.saturating_since(began), Backoff::RETRY.ceiling(1));
    let again = driven.take("a").unwrap();
    assert_eq!((again.id, again.attempts, again.last_error.as_deref()), (first.id, 1, Some("no")));
}

#[test]
fn after_the_last_attempt_a_message_becomes_a_dead_letter_and_the_next_one_comes() {
    let mut driven = Driven::with(&["a"]);
    driven.receives(vec![Message { attempts: 2, ..message(1, "a", "x") }, message(2, "a", "x")]);
    let first = driven.take("a").unwrap();
    driven.fails(&first);
    let is_report = |output: &InboxOutput| {
        let InboxOutput::Report(InboxAnomaly::DeadLettered { id, attempts: 3, .. }) = output else { return false };
        *id == first.id
    };
    assert_eq!(driven.said(is_report), 1);
    assert_eq!(driven.accepts(), [(first.id, AckOutcome::DeadLettered { attempt: 3, why: "no".to_owned() })]);
    assert_eq!(id_of(driven.take("a")), Some(2));
}

#[test]
fn an_interrupted_message_counts_as_untried() {
    let mut driven = Driven::with(&["a"]);
    driven.receives(vec![message(1, "a", "x")]);
    let first = driven.take("a").unwrap();
    driven.handled(1, &first, HandlingOutcome::Interrupted);
    assert!(driven.asked().is_none());
    assert_eq!(driven.take("a"), Some(first));
}

#[test]
fn nothing_is_handed_out_or_asked_for_once_work_has_to_stop() {
    let mut driven = Driven::with(&["a"]);
    driven.receives(vec![message(1, "a", "x")]);
    driven.leads = None;
    driven.handle(InboxInput::Hint);
    assert_eq!(driven.take("a"), None);
    assert!(driven.asked().is_none());
    assert_eq!(driven.alarm, None);
}

#[test]
fn a_term_that_ended_leaves_nothing_behind() {
    let mut driven = Driven::with(&["a"]);
    driven.receives(vec![message(1, "a", "x"), message(2, "a", "y")]);
    let (one, other) = (driven.take("a").unwrap(), driven.take("a").unwrap());
    driven.handled(1, &one, HandlingOutcome::Done);
    let (late, _) = driven.tells();
    driven.handle(InboxInput::Over);
    assert_eq!(driven.said(|output| matches!(output, InboxOutput::Release { .. })), 1);
    assert_eq!(driven.inbox.waiting(), 0);
    driven.elect(2);
    driven.handle(InboxInput::Reply { call: late, reply: MailboxReply::Acked(Ok(AckReply::NotHolder)) });
    driven.receives(vec![other.clone()]);
    let again = driven.take("a").unwrap();
    driven.handled(1, &other, HandlingOutcome::Done);
    assert!(driven.asked().is_none(), "a word of an earlier term says nothing in this one");
    driven.handled(2, &again, HandlingOutcome::Done);
    assert_eq!(driven.tells().1.len(), 1);
}

#[test]
fn a_word_that_comes_twice_is_told_once() {
    let mut driven = Driven::with(&["a"]);
    driven.receives(vec![message(1, "a", "x")]);
    let first = driven.take("a").unwrap();
    driven.handled(1, &first, HandlingOutcome::Done);
    driven.fails(&first);
    assert_eq!(driven.accepts(), [(first.id, AckOutcome::Done)]);
}

#[test]
fn a_channel_that_nobody_empties_is_not_asked_for_and_does_not_make_the_others_be_asked_for_without_end() {
    let mut driven = Driven::with(&["a", "b"]);
    let many = (0..PER_CHANNEL).map(|id| message(id as u128, "a", &format!("sender {id}")));
    driven.receives(many.collect());
    driven.handle(InboxInput::Hint);
    assert_eq!(driven.receives(vec![]).0, [channel("b")]);
    assert!(driven.asked().is_none(), "it has just looked");
    let first = driven.take("a").unwrap();
    driven.handled(1, &first, HandlingOutcome::Done);
    driven.accepts();
    assert_eq!(driven.receives(vec![]).0, [channel("a")], "as soon as there is room");
}

#[test]
fn a_closed_channel_gives_back_what_was_not_handed_out() {
    let mut driven = Driven::with(&["a", "b"]);
    let messages = [(1, "a", "x"), (2, "a", "x"), (3, "a", "y"), (4, "b", "x")];
    driven.receives(messages.map(|(id, name, sender)| message(id, name, sender)).into());
    let first = driven.take("a").unwrap();
    driven.handle(InboxInput::Closed { channel: channel("a") });
    driven.handle(InboxInput::Opened { channel: channel("a") });
    let (channels, except) = driven.receives(vec![]);
    assert_eq!((channels, except), (vec![channel("a")], vec![first.ordering_key()]), "what is in somebody's hands");
    driven.handled(1, &first, HandlingOutcome::Done);
    assert_eq!(driven.accepts(), [(first.id, AckOutcome::Done)]);
    assert_eq!(driven.receives(vec![]).1, []);
    assert_eq!(driven.take("a"), None);
}

#[test]
fn senders_take_turns() {
    let mut driven = Driven::with(&["a"]);
    let order = [(1, "x"), (2, "x"), (3, "x"), (4, "y"), (5, "y")];
    driven.receives(order.map(|(id, sender)| message(id, "a", sender)).into());
    let mut handed_out = Vec::new();
    while let Some(next) = driven.take("a") {
        handed_out.push(next.id.to_bits());
        driven.handled(1, &next, HandlingOutcome::Done);
    }
    assert_eq!(handed_out, [1, 4, 2, 5, 3]);
}

#[test]
fn a_reason_is_cut_and_holds_nothing_that_a_store_refuses() {
    let mut driven = Driven::with(&["a"]);
    driven.receives(vec![message(1, "a", "x")]);
    let first = driven.take("a").unwrap();
    driven.handled(1, &first, HandlingOutcome::Failed(format!("a\0b{}", "é".repeat(5_000))));
    let [(_, AckOutcome::Failed { why, .. })] = &driven.tells().1[..] else { panic!("one failure") };
    assert!(why.starts_with("a\u{fffd}bé"), "{why}");
    assert_eq!(why.chars().count(), MAX_REASON_CHARS);
}

#[test]
fn a_call_that_nobody_answers_is_given_up_and_its_late_answer_is_not_heard() {
    let mut driven = Driven::with(&["a"]);
    let (late, _) = driven.asked().unwrap();
    driven.sleep();
    assert_eq!(driven.said(|output| matches!(output, InboxOutput::Report(InboxAnomaly::Unanswered))), 1);
    driven.sleep();
    let reply = MailboxReply::Received(Ok(Received::Messages(vec![message(1, "a", "x")])));
    driven.handle(InboxInput::Reply { call: late, reply });
    assert_eq!(driven.take("a"), None);
    driven.receives(vec![message(1, "a", "x")]);
    assert_eq!(id_of(driven.take("a")), Some(1));
}

#[test]
fn whoever_holds_the_lease_no_more_is_told_so_and_asks_again_later() {
    let mut driven = Driven::with(&["a"]);
    let (call, _) = driven.asked().unwrap();
    driven.handle(InboxInput::Reply { call, reply: MailboxReply::Received(Ok(Received::NotHolder)) });
    assert_eq!(driven.said(|output| matches!(output, InboxOutput::Hint)), 1);
    assert!(driven.asked().is_none());
    driven.sleep();
    assert!(driven.asked().is_some());
}
