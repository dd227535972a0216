//! What a leader has received and not yet settled: which message may be handed out next, and what the store must still
//! be told. Plain rules: no clock, no store, no waiting.

use std::collections::{BTreeMap, VecDeque};

use tenure_core::{ChannelName, Instant, Sender, Term};

use crate::reason::storable;
use crate::retry::retry_after;
use crate::store::mailbox::AckOutcome;
use crate::store::{Message, MessageId, OrderingKey};

/// More of one channel are not asked for, so that a channel nobody empties keeps nothing from the others.
const HELD_PER_CHANNEL: usize = 64;
/// How many acks go to the store together.
const TOLD_TOGETHER: usize = 500;

/// The messages of one term. `W` is what keeps the lease from being released until an ack is sent.
#[derive(Debug)]
pub(super) struct TermInbox<W> {
    term: Option<Term>,
    channels: BTreeMap<ChannelName, OpenChannel>,
    lines: BTreeMap<OrderingKey, OrderedQueue>,
    acks: VecDeque<PendingAck<W>>,
    /// Being told this very moment.
    telling: Vec<PendingAck<W>>,
    /// More may wait in the store.
    look: bool,
}

/// A channel that somebody reads.
#[derive(Debug, Default)]
struct OpenChannel {
    readers: usize,
    /// Senders whose first message may be handed out, whoever has waited longest first.
    ready: VecDeque<Sender>,
}

/// The messages of one line that are here.
#[derive(Debug)]
struct OrderedQueue {
    queue: VecDeque<Message>,
    first: FirstMessage,
    /// Acks that the store has not been told.
    untold: usize,
    /// The store was asked for messages but not for those of this line: more may wait there.
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

#[derive(Debug)]
struct PendingAck<W> {
    line: OrderingKey,
    id: MessageId,
    outcome: AckOutcome,
    work: Option<W>,
}

/// What somebody did with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HandlingOutcome {
    Done,
    Failed(String),
    /// Not finished, because the leadership ended: the next leader gets it, and nothing counts as an attempt.
    Interrupted,
}

/// How failing messages are treated, at this moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryPolicy {
    pub(super) now: Instant,
    /// A message is set aside after this many attempts.
    pub(super) max_attempts: u32,
    /// Spreads retries: 0 means the earliest, `u32::MAX` the latest.
    pub(super) spread: u32,
}

/// A message that is not tried any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenUp {
    pub(super) channel: ChannelName,
    pub(super) id: MessageId,
    pub(super) attempts: u32,
    pub(super) why: String,
}

impl<W> Default for TermInbox<W> {
    fn default() -> Self {
        Self {
            term: None,
            channels: BTreeMap::new(),
            lines: BTreeMap::new(),
            acks: VecDeque::new(),
            telling: Vec::new(),
            look: false,
        }
    }
}

impl<W> TermInbox<W> {
    /// A term begins, with nothing here.
    pub(super) fn begin(&mut self, term: Term) {
        self.term = Some(term);
        self.look = true;
    }

    /// The term is over: what was not settled is for the next leader. Returns what kept the lease.
    pub(super) fn end(&mut self) -> Vec<W> {
        self.term = None;
        self.lines.clear();
        self.channels.values_mut().for_each(|open| open.ready.clear());
        let acks = self.acks.drain(..).chain(self.telling.drain(..));
        acks.filter_map(|ack| ack.work).collect()
    }

    /// Somebody reads a channel.
    pub(super) fn open(&mut self, channel: &ChannelName) {
        self.channels.entry(channel.clone()).or_default().readers += 1;
        self.look = true;
    }

    /// Somebody reads a channel no longer. What was the last reader's, and not in its hands, stays in the store.
    pub(super) fn close(&mut self, channel: &ChannelName) {
        let Some(open) = self.channels.get_mut(channel) else { return };
        open.readers -= 1;
        if open.readers > 0 {
            return;
        }
        self.channels.remove(channel);
        self.lines.retain(|line, held| {
            if line.channel == *channel {
                held.queue.truncate(usize::from(held.first == FirstMessage::Out));
                held.skipped = true;
            }
            !held.is_empty()
        });
    }

    /// The store may have more.
    pub(super) fn look(&mut self) {
        self.look = true;
    }

    /// Whether the store should be asked for more.
    pub(super) fn wants_look(&self) -> bool {
        self.look
    }

    /// What to ask the store for, if there is room for anything: these channels, except these lines.
    pub(super) fn ask(&mut self) -> Option<(Vec<ChannelName>, Vec<OrderingKey>)> {
        let mut held = BTreeMap::<&ChannelName, usize>::new();
        for (line, of_line) in &self.lines {
            *held.entry(&line.channel).or_default() += of_line.queue.len() + of_line.untold;
        }
        let has_room = |channel: &&ChannelName| held.get(channel).copied().unwrap_or(0) < HELD_PER_CHANNEL;
        let channels: Vec<ChannelName> = self.channels.keys().filter(has_room).cloned().collect();
        if channels.is_empty() {
            return None;
        }
        // A channel without room is looked for again when it has some.
        self.look = channels.len() < self.channels.len();
        self.lines.values_mut().for_each(|held| held.skipped = true);
        Some((channels, self.lines.keys().cloned().collect()))
    }

    /// Messages came from the store, in order; `more` when there may be others behind them.
    pub(super) fn arrived(&mut self, messages: Vec<Message>, more: bool) {
        self.look |= more;
        for message in messages {
            let Some(open) = self.channels.get_mut(&message.channel) else { continue };
            let line = OrderingKey { channel: message.channel.clone(), sender: message.sender.clone() };
            let held = self.lines.entry(line).or_insert_with(|| {
                open.ready.push_back(message.sender.clone());
                OrderedQueue { queue: VecDeque::new(), first: FirstMessage::Ready, untold: 0, skipped: false }
            });
            held.queue.push_back(message);
        }
    }

    /// How many messages are here without an ack: those in somebody's hands, and those to be tried again, too.
    #[cfg(feature = "metrics")]
    pub(super) fn waiting(&self) -> usize {
        self.lines.values().map(|held| held.queue.len()).sum()
    }

    /// Whether something may be handed out on this channel.
    pub(super) fn has_ready(&self, channel: &ChannelName) -> bool {
        self.channels.get(channel).is_some_and(|open| !open.ready.is_empty())
    }

    /// The channels on which something may be handed out.
    pub(super) fn ready(&self) -> Vec<ChannelName> {
        self.channels.iter().filter(|(_, open)| !open.ready.is_empty()).map(|(channel, _)| channel.clone()).collect()
    }

    /// Hands out a message.
    pub(super) fn take(&mut self, channel: &ChannelName) -> Option<Message> {
        let sender = self.channels.get_mut(channel)?.ready.pop_front()?;
        let held = self.lines.get_mut(&OrderingKey { channel: channel.clone(), sender })?;
        held.first = FirstMessage::Out;
        held.queue.front().cloned()
    }

    /// Takes note of what somebody did with a message that was handed out. Returns it if it was given up.
    pub(super) fn finish(
        &mut self,
        term: Term,
        message: &Message,
        outcome: HandlingOutcome,
        work: Option<W>,
        policy: RetryPolicy,
    ) -> Option<GivenUp> {
        let line = OrderingKey { channel: message.channel.clone(), sender: message.sender.clone() };
        let held =
            self.lines.get_mut(&line).filter(|held| self.term == Some(term) && held.first == FirstMessage::Out)?;
        let first = held.queue.front_mut().filter(|first| first.id == message.id)?;
        let attempt = first.attempts.saturating_add(1);
        let is_open = self.channels.contains_key(&line.channel);
        let mut given_up = None;
        let outcome = match outcome {
            HandlingOutcome::Interrupted => {
                held.first = FirstMessage::Ready;
                self.make_ready(line);
                return None;
            }
            HandlingOutcome::Done => AckOutcome::Done,
            HandlingOutcome::Failed(why) if attempt < policy.max_attempts => {
                let why = storable(&why);
                first.attempts = attempt;
                first.last_error = Some(why.clone());
                AckOutcome::Failed { attempt, why }
            }
            HandlingOutcome::Failed(why) => {
                let why = storable(&why);
                let (channel, id) = (line.channel.clone(), first.id);
                given_up = Some(GivenUp { channel, id, attempts: attempt, why: why.clone() });
                AckOutcome::DeadLettered { attempt, why }
            }
        };
        held.untold += 1;
        if matches!(outcome, AckOutcome::Failed { .. }) {
            held.first = FirstMessage::Later(policy.now + retry_after(attempt, policy.spread));
            if !is_open {
                // Nobody would take it again; it waits in the store for whoever reads the channel next.
                held.queue.clear();
            }
        } else {
            held.queue.pop_front();
            held.first = FirstMessage::Ready;
            if !held.queue.is_empty() {
                self.make_ready(line.clone());
            }
        }
        self.acks.push_back(PendingAck { line, id: message.id, outcome, work });
        given_up
    }

    /// Lets messages whose time has come be handed out again.
    pub(super) fn ripen(&mut self, now: Instant) {
        let is_due = |held: &OrderedQueue| matches!(held.first, FirstMessage::Later(at) if at <= now);
        let is_ripe = |held: &OrderedQueue| is_due(held) && !held.queue.is_empty();
        let ripe: Vec<OrderingKey> =
            self.lines.iter().filter(|(_, held)| is_ripe(held)).map(|(line, _)| line.clone()).collect();
        for line in ripe {
            if let Some(held) = self.lines.get_mut(&line) {
                held.first = FirstMessage::Ready;
            }
            self.make_ready(line);
        }
    }

    /// When the next message is tried again.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        let later = self.lines.values().filter_map(|held| match held.first {
            FirstMessage::Later(at) if !held.queue.is_empty() => Some(at),
            FirstMessage::Later(_) | FirstMessage::Ready | FirstMessage::Out => None,
        });
        later.min()
    }

    /// What the store is to be told now, in order. It is followed by [`told`](Self::told) or [`untold`](Self::untold).
    pub(super) fn tell(&mut self) -> Vec<(MessageId, AckOutcome)> {
        let count = self.acks.len().min(TOLD_TOGETHER);
        self.telling = self.acks.drain(..count).collect();
        self.telling.iter().map(|ack| (ack.id, ack.outcome.clone())).collect()
    }

    /// The store has been told. Returns what kept the lease for that long.
    pub(super) fn told(&mut self) -> Vec<W> {
        let told = std::mem::take(&mut self.telling);
        for ack in &told {
            let Some(held) = self.lines.get_mut(&ack.line) else { continue };
            held.untold -= 1;
            if held.is_empty() {
                self.look |= held.skipped;
                self.lines.remove(&ack.line);
            }
        }
        told.into_iter().filter_map(|ack| ack.work).collect()
    }

    /// The store could not be told, or nobody knows: it is told again.
    pub(super) fn untold(&mut self) {
        for ack in self.telling.drain(..).rev() {
            self.acks.push_front(ack);
        }
    }

    fn make_ready(&mut self, line: OrderingKey) {
        if let Some(open) = self.channels.get_mut(&line.channel) {
            open.ready.push_back(line.sender);
        }
    }
}

impl OrderedQueue {
    fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.untold == 0
    }
}

#[cfg(test)]
mod tests;
