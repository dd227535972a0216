//! Calls to the mailbox: when it is asked, what for, and what follows from its answers.

use std::time::Duration;

use super::{
    InboxAnomaly, InboxLeadership, InboxOutput, LeaderInbox, MailboxCall, MailboxCallId, MailboxReply, PendingAck,
};
use crate::backoff::Backoff;
use crate::election::input::WriteOutcome;
use crate::id::ChannelName;
use crate::messages::mutant::InboxMutant;
use crate::messages::request::{Ack, AckReply, Receive, Received};
use crate::time::Instant;

/// How often somebody looks where the store cannot push.
const LOOK_EVERY_UNPUSHED: Duration = Duration::from_secs(1);

/// A call that is under way.
#[derive(Debug, Clone)]
pub(super) struct PendingMailboxCall {
    id: MailboxCallId,
    sent_at: Instant,
    question: MailboxQuestion,
}

#[derive(Debug, Clone)]
enum MailboxQuestion {
    /// What waits on these channels?
    Receive(Vec<ChannelName>),
    Ack(Vec<PendingAck>),
}

/// Why nothing came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MailboxFailure {
    /// It failed. Whoever carried it out knows why.
    Failed,
    /// There was no answer in time.
    Unanswered,
    /// Somebody else holds the lease.
    NotHolder,
}

impl LeaderInbox {
    /// One call to the mailbox, if there is anything to tell or to ask. What is to be told comes first: it may keep the lease.
    pub(super) fn ask_next(&mut self) {
        let (now, leads) = (self.now, self.leads);
        let Some(leadership) = &mut self.leadership else { return };
        if leadership.call.is_some() || now < leadership.not_before {
            return;
        }
        if !leadership.acks.is_empty() {
            return self.tell();
        }
        // Work that must not begin any more is not fetched.
        if leads != Some(leadership.term) {
            return;
        }
        if now >= leadership.look_at && !self.has(InboxMutant::LooksWhenHinted) {
            self.look_anyway();
        }
        self.fetch();
    }

    /// At least once in a while, whether or not there was a hint. Readers that could not be woken before are woken again.
    fn look_anyway(&mut self) {
        let Some(leadership) = &mut self.leadership else { return };
        let ttl = leadership.ttl;
        leadership.look_at = self.now + if self.pushes { ttl } else { ttl.min(LOOK_EVERY_UNPUSHED) };
        self.look();
        let channels: Vec<ChannelName> = self.channels.keys().cloned().collect();
        channels.iter().for_each(|channel| self.wake(channel));
    }

    fn tell(&mut self) {
        let Some(leadership) = &mut self.leadership else { return };
        let count = leadership.acks.len().min(self.limits.told_together);
        let telling: Vec<PendingAck> = leadership.acks.drain(..count).collect();
        let outcomes = telling.iter().map(|ack| (ack.id, ack.outcome.clone())).collect();
        let (key, nonce, term) = (self.key.clone(), leadership.nonce, leadership.term);
        self.call(MailboxQuestion::Ack(telling), MailboxCall::Ack(Ack { key, nonce, term, outcomes }));
    }

    /// Asks for messages of the channels that may have some and have room. A channel without room is asked for as soon as it has
    /// some.
    fn fetch(&mut self) {
        let (asks_for_held, asks_past_full) =
            (self.has(InboxMutant::AsksForHeldLines), self.has(InboxMutant::AsksPastFull));
        let Some(leadership) = &mut self.leadership else { return };
        let room = |channel: &ChannelName| leadership.lines.held(channel) < self.limits.held_per_channel;
        let wanted = self.channels.iter().filter(|(channel, open)| open.look && room(channel));
        let channels: Vec<ChannelName> = wanted.map(|(channel, _)| channel.clone()).collect();
        if channels.is_empty() {
            return;
        }
        let looks_on = asks_past_full && self.channels.keys().any(|channel| !room(channel));
        let mut except = leadership.lines.skip(&channels);
        if asks_for_held {
            except.clear();
        }
        let (key, nonce, term) = (self.key.clone(), leadership.nonce, leadership.term);
        self.look_at_channels(&channels, looks_on);
        let limit = self.limits.received_together;
        let receive = Receive { key, nonce, term, channels: channels.clone(), except, limit };
        self.call(MailboxQuestion::Receive(channels), MailboxCall::Receive(receive));
    }

    fn call(&mut self, question: MailboxQuestion, call: MailboxCall) {
        let Some(leadership) = &mut self.leadership else { return };
        self.last_call += 1;
        let id = MailboxCallId(self.last_call);
        leadership.call = Some(PendingMailboxCall { id, sent_at: self.now, question });
        self.emit(InboxOutput::Call { id, call });
    }

    pub(super) fn reply(&mut self, id: MailboxCallId, reply: MailboxReply) {
        let any = self.has(InboxMutant::TakesAnyReply);
        let Some(leadership) = &mut self.leadership else { return };
        let is_meant = |pending: &mut PendingMailboxCall| (pending.id == id || any) && pending.is_answered_by(&reply);
        let Some(PendingMailboxCall { question, .. }) = leadership.call.take_if(is_meant) else { return };
        let went = match (question, reply) {
            (MailboxQuestion::Receive(channels), MailboxReply::Received(received)) => {
                self.received(&channels, received)
            }
            (MailboxQuestion::Ack(telling), MailboxReply::Acked(acked)) => self.acked(telling, acked),
            (MailboxQuestion::Receive(_), MailboxReply::Acked(_))
            | (MailboxQuestion::Ack(_), MailboxReply::Received(_)) => Ok(()),
        };
        self.went(went);
    }

    fn received(
        &mut self,
        channels: &[ChannelName],
        received: Result<Received, WriteOutcome>,
    ) -> Result<(), MailboxFailure> {
        match received {
            Ok(Received::Messages(messages)) => {
                if messages.len() >= self.limits.received_together {
                    self.look_at_channels(channels, true);
                }
                self.arrived(messages);
                Ok(())
            }
            failed => {
                self.look_at_channels(channels, true);
                Err(failed.map_or(MailboxFailure::Failed, |_| MailboxFailure::NotHolder))
            }
        }
    }

    /// The mailbox has been told, or has to be told again: nobody knows.
    fn acked(&mut self, telling: Vec<PendingAck>, acked: Result<AckReply, WriteOutcome>) -> Result<(), MailboxFailure> {
        let setback = match acked {
            Ok(AckReply::Accepted { dropped }) => {
                self.told(&telling);
                if dropped > 0 {
                    self.emit(InboxOutput::Report(InboxAnomaly::DeadLettersDropped { count: dropped }));
                }
                return Ok(());
            }
            Ok(AckReply::NotHolder) => MailboxFailure::NotHolder,
            Err(_) => MailboxFailure::Failed,
        };
        self.untold(telling);
        Err(setback)
    }

    fn told(&mut self, telling: &[PendingAck]) {
        for PendingAck { line, .. } in telling {
            let may_have_more = self.leadership.as_mut().is_some_and(|leadership| leadership.lines.told(line));
            if may_have_more {
                self.look_at_channels(std::slice::from_ref(&line.channel), true);
            }
        }
    }

    fn untold(&mut self, telling: Vec<PendingAck>) {
        if self.has(InboxMutant::TellsOnce) {
            return self.told(&telling);
        }
        let Some(leadership) = &mut self.leadership else { return };
        telling.into_iter().rev().for_each(|ack| leadership.acks.push_front(ack));
    }

    /// Whether more may wait on these channels.
    fn look_at_channels(&mut self, channels: &[ChannelName], look: bool) {
        for (_, open) in self.channels.iter_mut().filter(|(channel, _)| channels.contains(channel)) {
            open.look = look;
        }
    }

    /// A call that was not answered in time is not waited for any longer, and may have had its effect.
    pub(super) fn give_up_call(&mut self) {
        let now = self.now;
        let Some(leadership) = &mut self.leadership else { return };
        let patience = leadership.patience;
        let Some(pending) = leadership.call.take_if(|pending| now >= pending.sent_at + patience) else { return };
        match pending.question {
            MailboxQuestion::Receive(channels) => self.look_at_channels(&channels, true),
            MailboxQuestion::Ack(telling) => self.untold(telling),
        }
        self.went(Err(MailboxFailure::Unanswered));
    }

    fn went(&mut self, went: Result<(), MailboxFailure>) {
        let pauses = !self.has(InboxMutant::NeverPauses);
        let (now, spread) = (self.now, self.spread);
        let Some(leadership) = &mut self.leadership else { return };
        let Err(setback) = went else {
            leadership.failures = 0;
            return;
        };
        leadership.failures = leadership.failures.saturating_add(1);
        if pauses {
            leadership.not_before = now + Backoff::RETRY.delay(leadership.failures, spread);
        }
        match setback {
            MailboxFailure::Failed => {}
            MailboxFailure::Unanswered => self.emit(InboxOutput::Report(InboxAnomaly::Unanswered)),
            MailboxFailure::NotHolder => self.emit(InboxOutput::Hint),
        }
    }

    /// When something may have to be done.
    pub(super) fn alarm(&self) -> Option<Instant> {
        let leadership = self.leadership.as_ref()?;
        let leads = self.leads == Some(leadership.term);
        let retry = leadership.lines.next_retry().filter(|_| leads);
        let next = match &leadership.call {
            Some(pending) => Some(pending.sent_at + leadership.patience),
            None if !leadership.acks.is_empty() => Some(leadership.not_before),
            None if !leads => None,
            None if self.wants_more(leadership) => Some(leadership.not_before),
            None if self.has(InboxMutant::LooksWhenHinted) => None,
            None => Some(leadership.look_at.max(leadership.not_before)),
        };
        next.into_iter().chain(retry).min()
    }

    fn wants_more(&self, leadership: &InboxLeadership) -> bool {
        let room = |channel: &ChannelName| leadership.lines.held(channel) < self.limits.held_per_channel;
        self.channels.iter().any(|(channel, open)| open.look && room(channel))
    }
}

impl InboxLeadership {
    /// Whether there is something that the mailbox does not know yet.
    pub(super) fn has_untold(&self) -> bool {
        let is_telling = self.call.as_ref().is_some_and(|pending| matches!(pending.question, MailboxQuestion::Ack(_)));
        is_telling || !self.acks.is_empty()
    }
}

impl PendingMailboxCall {
    fn is_answered_by(&self, reply: &MailboxReply) -> bool {
        match (&self.question, reply) {
            (MailboxQuestion::Receive(_), MailboxReply::Received(_))
            | (MailboxQuestion::Ack(_), MailboxReply::Acked(_)) => true,
            (MailboxQuestion::Receive(_), MailboxReply::Acked(_))
            | (MailboxQuestion::Ack(_), MailboxReply::Received(_)) => false,
        }
    }

    /// What it was to tell.
    #[cfg(mutants)]
    pub(super) fn into_acks(self) -> Vec<PendingAck> {
        match self.question {
            MailboxQuestion::Ack(telling) => telling,
            MailboxQuestion::Receive(_) => Vec::new(),
        }
    }
}
