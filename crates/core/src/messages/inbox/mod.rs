//! The inbox: the messages of one candidate in one election, while it leads.

mod calls;
mod input;
mod lines;
mod output;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::mutant::InboxMutant;
use super::request::AckOutcome;
use crate::election::timing::Timing;
use crate::id::ChannelName;
use crate::lease::{Nonce, Term};
use crate::request::ElectionKey;
use crate::time::Instant;

use self::calls::PendingMailboxCall;
pub use self::input::{HandlingOutcome, InboxInput, InboxMoment, MailboxReply};
use self::lines::{MessageLines, OpenChannel, PendingAck};
pub use self::output::{InboxAnomaly, InboxOutput, MailboxCall, MailboxCallId};

/// Limits on the messages that an inbox deals with at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxLimits {
    /// The maximum number held for one channel, so that a channel without a reader leaves room for the others.
    pub held_per_channel: usize,
    /// The number that is fetched at once.
    pub received_together: usize,
    /// The number of acks that are sent together.
    pub told_together: usize,
}

impl Default for InboxLimits {
    fn default() -> Self {
        Self { held_per_channel: 64, received_together: 64, told_together: 500 }
    }
}

/// The messages to one candidate in one election, under all its leaderships, as a pure state machine: it receives them from the
/// mailbox, says which may be handed out, and tells the mailbox what became of them.
///
/// # Contract
/// - Call [`handle`](Self::handle) for everything that happens, then [`poll_output`](Self::poll_output) until it returns
///   [`InboxOutput::Timeout`]. Outputs are carried out in their order.
/// - The [moment](InboxMoment) of a call is read right before it. Nothing is delivered under a term that is not led under at that
///   very moment.
/// - One call is under way at a time. It is answered at most once, under its own id; answers may be late or lost, or have an id
///   that is no longer waited for. The caller need not time out calls: the inbox does.
/// - What is delivered keeps the lease from being released until it is handled, and from then on the inbox does, until the
///   mailbox is told.
///
/// One message of a line is out at a time. What was not told when the leadership is [over](InboxInput::Over) is for the next
/// leader.
#[derive(Debug, Clone)]
pub struct LeaderInbox {
    key: ElectionKey,
    /// A message becomes a dead letter after this many attempts.
    max_attempts: u32,
    limits: InboxLimits,
    now: Instant,
    leads: Option<Term>,
    spread: u32,
    pushes: bool,
    channels: BTreeMap<ChannelName, OpenChannel>,
    leadership: Option<InboxLeadership>,
    last_call: u64,
    outputs: VecDeque<InboxOutput>,
    #[cfg(mutants)]
    pub(super) mutant: Option<InboxMutant>,
    #[cfg(mutants)]
    kept: Option<InboxLeadership>,
}

/// One leadership.
#[derive(Debug, Clone)]
struct InboxLeadership {
    nonce: Nonce,
    term: Term,
    /// No call is waited for longer than a renewal would be.
    patience: Duration,
    ttl: Duration,
    lines: MessageLines,
    acks: VecDeque<PendingAck>,
    call: Option<PendingMailboxCall>,
    /// When to look whether or not there was a hint.
    look_at: Instant,
    failures: u32,
    not_before: Instant,
    /// Whether the lease is kept from being released.
    is_held: bool,
}

impl LeaderInbox {
    /// The inbox of a candidate that leads nothing, with no channel open. A message becomes a dead letter after so many
    /// attempts.
    #[must_use]
    pub fn new(key: ElectionKey, max_attempts: u32) -> Self {
        Self {
            key,
            max_attempts,
            limits: InboxLimits::default(),
            now: Instant::ZERO,
            leads: None,
            spread: 0,
            pushes: false,
            channels: BTreeMap::new(),
            leadership: None,
            last_call: 0,
            outputs: VecDeque::new(),
            #[cfg(mutants)]
            mutant: None,
            #[cfg(mutants)]
            kept: None,
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: InboxLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Handles an input at this moment.
    pub fn handle(&mut self, moment: InboxMoment, input: InboxInput) {
        let InboxMoment { now, leads, spread, pushes } = moment;
        self.now = now.max(self.now);
        (self.leads, self.spread, self.pushes) = (leads, spread, pushes);
        self.give_up_call();
        match input {
            InboxInput::Timeout => {}
            InboxInput::Opened { channel } => self.open(channel),
            InboxInput::Closed { channel } => self.close(&channel),
            InboxInput::Elected { nonce, term, timing } => self.elected(nonce, term, &timing),
            InboxInput::Over => self.over(),
            InboxInput::Hint => self.look(),
            InboxInput::Take { channel } => self.take(&channel),
            InboxInput::Handled { term, line, id, outcome } => self.handled(term, &line, id, outcome),
            InboxInput::Reply { call, reply } => self.reply(call, reply),
        }
        self.advance();
    }

    /// Returns the next thing to do, or when to call again.
    pub fn poll_output(&mut self) -> InboxOutput {
        let output = self.outputs.pop_front();
        if self.outputs.is_empty() {
            // A process may stand in ten thousand elections that are silent most of the time.
            self.outputs = VecDeque::new();
        }
        output.unwrap_or_else(|| InboxOutput::Timeout(self.alarm()))
    }

    /// Returns the number of messages here without an ack, including those being handled and those to be retried.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.leadership.as_ref().map_or(0, |leadership| leadership.lines.waiting())
    }

    /// Returns whether there is something to [take](InboxInput::Take) on a channel.
    #[must_use]
    pub fn has_ready(&self, channel: &ChannelName) -> bool {
        self.channels.get(channel).is_some_and(|open| !open.ready.is_empty())
    }

    fn elected(&mut self, nonce: Nonce, term: Term, timing: &Timing) {
        self.over();
        self.leadership = Some(InboxLeadership {
            nonce,
            term,
            patience: timing.attempt_timeout(),
            ttl: timing.ttl(),
            lines: MessageLines::default(),
            acks: VecDeque::new(),
            call: None,
            look_at: Instant::ZERO,
            failures: 0,
            not_before: Instant::ZERO,
            is_held: false,
        });
        let looks = !self.has(InboxMutant::LooksWhenHinted);
        self.channels.values_mut().for_each(|open| open.look = looks);
        self.remember();
    }

    /// What was not settled is for the next leader.
    fn over(&mut self) {
        let Some(leadership) = self.leadership.take() else { return };
        self.channels.values_mut().for_each(|open| open.ready.clear());
        if leadership.is_held {
            self.emit(InboxOutput::Release { term: leadership.term });
        }
        self.keep(leadership);
    }

    /// Keeps for the next term what belongs to the last.
    #[cfg(mutants)]
    fn keep(&mut self, leadership: InboxLeadership) {
        if self.has(InboxMutant::TellsUnderNewTerm) || self.has(InboxMutant::KeepsOverTerms) {
            self.kept = Some(leadership);
        }
    }

    #[cfg(mutants)]
    fn remember(&mut self) {
        let (Some(mut kept), tells) = (self.kept.take(), self.has(InboxMutant::TellsUnderNewTerm)) else { return };
        let Some(leadership) = &mut self.leadership else { return };
        if tells {
            kept.acks.extend(kept.call.take().into_iter().flat_map(PendingMailboxCall::into_acks));
            leadership.acks = kept.acks;
        } else {
            leadership.lines = kept.lines.left_over();
            let lines = leadership.lines.keys();
            lines.into_iter().for_each(|line| self.make_ready(&line));
        }
    }

    #[cfg(not(mutants))]
    #[expect(clippy::unused_self, reason = "inboxes that make mistakes keep it")]
    fn keep(&self, _: InboxLeadership) {}

    #[cfg(not(mutants))]
    #[expect(clippy::unused_self, reason = "inboxes that make mistakes remember")]
    fn remember(&self) {}

    /// Hands out the next message, if it is not too late to begin with it.
    fn take(&mut self, channel: &ChannelName) {
        let may_begin_late = self.has(InboxMutant::HandsOutAfterLoss);
        let acks_unhandled = self.has(InboxMutant::AcksUnhandled);
        let Some(leadership) = &mut self.leadership else { return };
        if self.leads != Some(leadership.term) && !may_begin_late {
            return;
        }
        let Some(sender) = self.channels.get_mut(channel).and_then(|open| open.ready.pop_front()) else { return };
        let Some(message) = leadership.lines.hand_out(channel, sender) else { return };
        if acks_unhandled {
            let (line, id) = (message.ordering_key(), message.id);
            self.outputs.push_back(InboxOutput::Deliver(message));
            return self.settle(&line, id, AckOutcome::Done);
        }
        self.emit(InboxOutput::Deliver(message));
        // One who was woken may have been woken for two messages.
        self.wake(channel);
    }

    /// Does what is due.
    fn advance(&mut self) {
        let now = self.now;
        let ripe = self.leadership.as_mut().map(|leadership| leadership.lines.ripen(now)).unwrap_or_default();
        ripe.iter().for_each(|line| self.make_ready(line));
        self.ask_next();
        self.release();
    }

    fn hold(&mut self) {
        let Some(leadership) = self.leadership.as_mut().filter(|leadership| !leadership.is_held) else { return };
        leadership.is_held = true;
        let term = leadership.term;
        self.emit(InboxOutput::Hold { term });
    }

    /// Lets the lease be released once the mailbox knows everything.
    fn release(&mut self) {
        let Some(leadership) = self.leadership.as_mut().filter(|leadership| leadership.is_held) else { return };
        if leadership.has_untold() {
            return;
        }
        leadership.is_held = false;
        let term = leadership.term;
        self.emit(InboxOutput::Release { term });
    }

    fn emit(&mut self, output: InboxOutput) {
        self.outputs.push_back(output);
    }
}
