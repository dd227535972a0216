//! The messages that are here: which of them may be handed out next, and what is to be told of them.

use std::collections::{BTreeMap, VecDeque};

use super::{HandlingOutcome, InboxAnomaly, InboxOutput, LeaderInbox};
use crate::backoff::Backoff;
use crate::id::{ChannelName, Sender};
use crate::lease::Term;
use crate::messages::message::{Message, MessageId, OrderingKey};
use crate::messages::mutant::InboxMutant;
use crate::messages::request::AckOutcome;
use crate::reason::storable;
use crate::time::Instant;

/// A channel that somebody reads.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenChannel {
    readers: usize,
    /// Senders whose first message may be handed out, whoever has waited longest first.
    pub(super) ready: VecDeque<Sender>,
    /// More may wait in the mailbox.
    pub(super) look: bool,
}

/// The messages of one term that are here.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageLines(BTreeMap<OrderingKey, OrderedQueue>);

/// The messages of one line that are here.
#[derive(Debug, Clone)]
struct OrderedQueue {
    queue: VecDeque<Message>,
    first: FirstMessage,
    /// Acks that the mailbox has not been told.
    untold: usize,
    /// The mailbox was asked for messages but not for those of this line: more may wait there.
    skipped: bool,
}

/// Where the first message of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstMessage {
    Ready,
    /// In somebody's hands.
    Out,
    /// Failed, and tried again then.
    Later(Instant),
}

/// What the mailbox is to be told.
#[derive(Debug, Clone)]
pub(super) struct PendingAck {
    pub(super) line: OrderingKey,
    pub(super) id: MessageId,
    pub(super) outcome: AckOutcome,
}

impl LeaderInbox {
    pub(super) fn open(&mut self, channel: ChannelName) {
        let open = self.channels.entry(channel).or_default();
        open.readers += 1;
        open.look = true;
    }

    /// What was the last reader's, and not in its hands, stays in the mailbox.
    pub(super) fn close(&mut self, channel: &ChannelName) {
        let Some(open) = self.channels.get_mut(channel) else { return };
        open.readers -= 1;
        if open.readers > 0 {
            return;
        }
        self.channels.remove(channel);
        if let Some(leadership) = &mut self.leadership {
            leadership.lines.close(channel);
        }
    }

    /// The mailbox may have more of everything.
    pub(super) fn look(&mut self) {
        self.channels.values_mut().for_each(|open| open.look = true);
    }

    /// Takes note of what somebody did with a message that was handed out. A word of an earlier term says nothing in this one.
    pub(super) fn handled(&mut self, term: Term, line: &OrderingKey, id: MessageId, outcome: HandlingOutcome) {
        let counts_all = self.has(InboxMutant::InterruptionCounts);
        let Some(leadership) = self.leadership.as_mut().filter(|leadership| leadership.term == term) else { return };
        let Some(first) = leadership.lines.out(line, id) else { return };
        let attempt = first.attempts.saturating_add(1);
        let why = match outcome {
            HandlingOutcome::Done => return self.settle(line, id, AckOutcome::Done),
            HandlingOutcome::Interrupted if counts_all => "interrupted".to_owned(),
            HandlingOutcome::Interrupted => {
                leadership.lines.put_back(line);
                return self.make_ready(line);
            }
            HandlingOutcome::Failed(why) => storable(&why),
        };
        let allowed = self.max_attempts - u32::from(self.has(InboxMutant::GivesUpEarly));
        if attempt >= allowed {
            let channel = line.channel.clone();
            self.settle(line, id, AckOutcome::DeadLettered { attempt, why: why.clone() });
            return self.emit(InboxOutput::Report(InboxAnomaly::DeadLettered { channel, id, attempts: attempt, why }));
        }
        self.fail(line, id, attempt, why);
    }

    /// An attempt failed, and there will be another. Until then the line waits.
    fn fail(&mut self, line: &OrderingKey, id: MessageId, attempt: u32, why: String) {
        let is_open = self.channels.contains_key(&line.channel);
        let at = self.now + Backoff::RETRY.delay(attempt, self.spread);
        let passes = self.has(InboxMutant::HandsOutBehindRetry);
        let Some(leadership) = &mut self.leadership else { return };
        // Nobody would take it again from a channel that is closed; it waits in the mailbox for the next reader.
        leadership.lines.fail(line, attempt, &why, is_open.then_some(at));
        let others_first = passes && leadership.lines.swap_first(line);
        leadership.acks.push_back(PendingAck { line: line.clone(), id, outcome: AckOutcome::Failed { attempt, why } });
        if others_first {
            self.make_ready(line);
        }
        self.hold();
    }

    /// The first message of a line is done with: the next one may be handed out, and the mailbox is told.
    pub(super) fn settle(&mut self, line: &OrderingKey, id: MessageId, outcome: AckOutcome) {
        let Some(leadership) = &mut self.leadership else { return };
        let has_next = leadership.lines.settle(line);
        leadership.acks.push_back(PendingAck { line: line.clone(), id, outcome });
        if has_next {
            self.make_ready(line);
        }
        self.hold();
    }

    /// The first message of a line may be handed out.
    pub(super) fn make_ready(&mut self, line: &OrderingKey) {
        if let Some(open) = self.channels.get_mut(&line.channel) {
            open.ready.push_back(line.sender.clone());
            self.emit(InboxOutput::Ready { channel: line.channel.clone() });
        }
    }

    /// Wakes those who read a channel if there is something on it.
    pub(super) fn wake(&mut self, channel: &ChannelName) {
        if self.has_ready(channel) {
            self.emit(InboxOutput::Ready { channel: channel.clone() });
        }
    }

    /// Messages came from the mailbox, in order. Those of a channel that was closed meanwhile stay there.
    pub(super) fn arrived(&mut self, messages: Vec<Message>) {
        for message in messages {
            let line = message.ordering_key();
            let Some(leadership) = self.leadership.as_mut().filter(|_| self.channels.contains_key(&line.channel))
            else {
                continue;
            };
            if leadership.lines.add(&line, message) {
                self.make_ready(&line);
            }
        }
    }
}

impl MessageLines {
    #[cfg(mutants)]
    pub(super) fn keys(&self) -> Vec<OrderingKey> {
        self.0.keys().cloned().collect()
    }

    /// How many messages are here that have no ack.
    pub(super) fn waiting(&self) -> usize {
        self.0.values().map(|held| held.queue.len()).sum()
    }

    /// How many of a channel are here, or are still to be told of.
    pub(super) fn held(&self, channel: &ChannelName) -> usize {
        let of_channel = self.0.iter().filter(|(line, _)| line.channel == *channel);
        of_channel.map(|(_, held)| held.queue.len() + held.untold).sum()
    }

    /// The mailbox is asked for messages of these channels, but not of the lines that are here.
    pub(super) fn skip(&mut self, channels: &[ChannelName]) -> Vec<OrderingKey> {
        let of_channels = self.0.iter_mut().filter(|(line, _)| channels.contains(&line.channel));
        let skip = |(line, held): (&OrderingKey, &mut OrderedQueue)| {
            held.skipped = true;
            line.clone()
        };
        of_channels.map(skip).collect()
    }

    /// Puts a message at the end of its line. Returns whether it is the first of it.
    fn add(&mut self, line: &OrderingKey, message: Message) -> bool {
        let is_new = !self.0.contains_key(line);
        let held = self.0.entry(line.clone()).or_insert_with(OrderedQueue::new);
        held.queue.push_back(message);
        is_new
    }

    pub(super) fn hand_out(&mut self, channel: &ChannelName, sender: Sender) -> Option<Message> {
        let held = self.0.get_mut(&OrderingKey { channel: channel.clone(), sender })?;
        held.first = FirstMessage::Out;
        held.queue.front().cloned()
    }

    /// The message, if it is in somebody's hands.
    fn out(&mut self, line: &OrderingKey, id: MessageId) -> Option<&Message> {
        let held = self.0.get(line).filter(|held| held.first == FirstMessage::Out)?;
        held.queue.front().filter(|first| first.id == id)
    }

    fn put_back(&mut self, line: &OrderingKey) {
        if let Some(held) = self.0.get_mut(line) {
            held.first = FirstMessage::Ready;
        }
    }

    fn fail(&mut self, line: &OrderingKey, attempt: u32, why: &str, again_at: Option<Instant>) {
        let Some(held) = self.0.get_mut(line) else { return };
        held.untold += 1;
        held.first = FirstMessage::Later(again_at.unwrap_or(Instant::FAR_FUTURE));
        match held.queue.front_mut().filter(|_| again_at.is_some()) {
            Some(first) => (first.attempts, first.last_error) = (attempt, Some(why.to_owned())),
            None => held.queue.clear(),
        }
    }

    /// Lets the second of a line pass the first, if there is one.
    fn swap_first(&mut self, line: &OrderingKey) -> bool {
        let Some(held) = self.0.get_mut(line).filter(|held| held.queue.len() > 1) else { return false };
        held.queue.swap(0, 1);
        held.first = FirstMessage::Ready;
        true
    }

    /// Returns whether there is another one behind the first.
    fn settle(&mut self, line: &OrderingKey) -> bool {
        let Some(held) = self.0.get_mut(line) else { return false };
        held.untold += 1;
        held.queue.pop_front();
        held.first = FirstMessage::Ready;
        !held.queue.is_empty()
    }

    /// Lines whose first messages may be handed out once more.
    pub(super) fn ripen(&mut self, now: Instant) -> Vec<OrderingKey> {
        let mut ripe = Vec::new();
        for (line, held) in &mut self.0 {
            if matches!(held.first, FirstMessage::Later(at) if at <= now) && !held.queue.is_empty() {
                held.first = FirstMessage::Ready;
                ripe.push(line.clone());
            }
        }
        ripe
    }

    /// When the next message is tried again.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        let later = self.0.values().filter_map(|held| match held.first {
            FirstMessage::Later(at) if !held.queue.is_empty() => Some(at),
            FirstMessage::Later(_) | FirstMessage::Ready | FirstMessage::Out => None,
        });
        later.min()
    }

    /// The mailbox was told of one. Returns whether more may wait there, now that nothing of the line is here.
    pub(super) fn told(&mut self, line: &OrderingKey) -> bool {
        let Some(held) = self.0.get_mut(line) else { return false };
        held.untold = held.untold.saturating_sub(1);
        if !held.is_empty() {
            return false;
        }
        let skipped = held.skipped;
        self.0.remove(line);
        skipped
    }

    fn close(&mut self, channel: &ChannelName) {
        self.0.retain(|line, held| {
            if line.channel == *channel {
                held.queue.truncate(usize::from(held.first == FirstMessage::Out));
                held.skipped = true;
            }
            !held.is_empty()
        });
    }

    /// What was here when a term ended, as if it had just come.
    #[cfg(mutants)]
    pub(super) fn left_over(mut self) -> Self {
        self.0.retain(|_, held| !held.queue.is_empty());
        self.0.values_mut().for_each(|held| (held.first, held.untold) = (FirstMessage::Ready, 0));
        self
    }
}

impl OrderedQueue {
    fn new() -> Self {
        Self { queue: VecDeque::new(), first: FirstMessage::Ready, untold: 0, skipped: false }
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.untold == 0
    }
}
