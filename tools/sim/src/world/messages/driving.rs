//! What a process does around its inbox: feeds it, carries out what it wants, and wakes it.

use std::sync::Arc;

use tenure_core::messages::{InboxInput, InboxMoment, InboxOutput, LeaderInbox, MailboxCall};
use tenure_core::{ChannelName, Elector, Instant, Term};

use super::SimMailEvent;
use super::event::MailParty;
use crate::clock::MILLI;
use crate::invariants::Occurrence;
#[cfg(mutants)]
use crate::mistake::Mistake;
use crate::store::{MailRequest, key};
use crate::world::queue::Incarnation;
use crate::world::{SimOutcome, SimWorld};

/// The inbox of one process.
pub(super) struct SimInbox {
    of: Incarnation,
    inbox: LeaderInbox,
    /// The leadership that is not over.
    term: Option<Term>,
    /// The term whose lease it keeps from being released.
    holds: Option<Term>,
    timeout: Option<Instant>,
    /// The number of the alarm that counts.
    alarms: u64,
}

impl SimWorld {
    /// A process begins, and reads all channels.
    pub(in crate::world) fn start_mail(&mut self, node: usize) -> SimOutcome {
        let Some(mail) = &self.options.mail else { return Ok(()) };
        let inbox = LeaderInbox::new(key(), mail.max_attempts).with_limits(mail.inbox_limits);
        #[cfg(mutants)]
        let inbox = match self.options.mistake {
            Some(Mistake::Inbox(mutant)) => inbox.mutated(mutant),
            _ => inbox,
        };
        let channels = mail.channels.clone();
        let of = self.nodes[node].life(node);
        self.messages.inboxes[node] = Some(SimInbox { of, inbox, term: None, holds: None, timeout: None, alarms: 0 });
        channels.into_iter().try_for_each(|channel| self.feed_mail(node, InboxInput::Opened { channel }))
    }

    /// A process is gone, or its candidate has left. What was in its hands is in nobody's.
    pub(in crate::world) fn stop_mail(&mut self, node: usize) {
        self.messages.inboxes[node] = None;
        self.messages.deliveries.retain(|delivery| delivery.of.node != node);
    }

    /// Leadership begins, and with it the reading of messages.
    pub(in crate::world) fn begin_mail(&mut self, node: usize, term: Term) -> SimOutcome {
        let Some(nonce) = self.nodes[node].elector.as_ref().and_then(Elector::nonce) else { return Ok(()) };
        let timing = self.nodes[node].contender.candidate.timing;
        let Some(inbox) = &mut self.messages.inboxes[node] else { return Ok(()) };
        inbox.term = Some(term);
        self.feed_mail(node, InboxInput::Elected { nonce, term, timing })
    }

    /// The work of a leadership has had its time, or has ended. Its process hears of it when it can.
    pub(in crate::world) fn end_mail(&mut self, of: Incarnation, term: Term) {
        if self.options.mail.is_some() {
            self.put_mail(self.now, SimMailEvent::Over { of, term });
        }
    }

    pub(super) fn mail_is_over(&mut self, of: Incarnation, term: Term) -> SimOutcome {
        let Some(inbox) = self.inbox_of(of) else { return Ok(()) };
        if inbox.term.take_if(|under| *under == term).is_none() {
            return Ok(());
        }
        self.feed_mail(of.node, InboxInput::Over)
    }

    /// Whether the inbox of a process keeps the lease of this term from being released.
    pub(in crate::world) fn mail_keeps_lease(&self, of: Incarnation, term: Term) -> bool {
        let inbox = self.messages.inboxes[of.node].as_ref();
        inbox.is_some_and(|inbox| inbox.of == of && inbox.holds == Some(term))
    }

    /// The inbox of a process that is still there.
    pub(super) fn inbox_of(&mut self, of: Incarnation) -> Option<&mut SimInbox> {
        self.messages.inboxes[of.node].as_mut().filter(|inbox| inbox.of == of)
    }

    /// An alarm rings; only the last that was set counts.
    pub(super) fn look_for_mail(&mut self, of: Incarnation, alarm: u64) -> SimOutcome {
        if self.inbox_of(of).is_none_or(|inbox| inbox.alarms != alarm) {
            return Ok(());
        }
        self.feed_mail(of.node, InboxInput::Timeout)
    }

    pub(super) fn hint_mail(&mut self, to: Incarnation) -> SimOutcome {
        if self.inbox_of(to).is_none() {
            return Ok(());
        }
        self.feed_mail(to.node, InboxInput::Hint)
    }

    pub(super) fn feed_mail(&mut self, node: usize, input: InboxInput) -> SimOutcome {
        let moment = InboxMoment {
            now: self.machines[self.nodes[node].machine].clock.at(self.now),
            leads: self.leads_under(node),
            spread: u32::try_from(self.messages.rng.below(1 << 32)).unwrap_or_default(),
            pushes: self.options.mail.as_ref().is_some_and(|mail| mail.pushes),
        };
        let Some(inbox) = &mut self.messages.inboxes[node] else { return Ok(()) };
        inbox.inbox.handle(moment, input);
        let mut outputs = Vec::new();
        inbox.timeout = loop {
            match inbox.inbox.poll_output() {
                InboxOutput::Timeout(alarm) => break alarm,
                output => outputs.push(output),
            }
        };
        self.set_mail_alarm(node);
        outputs.into_iter().try_for_each(|output| self.carry_out_of_mail(node, output))
    }

    /// Clocks run at other rates than before, and so alarms ring at other times.
    pub(in crate::world) fn set_mail_alarms(&mut self) {
        (0..self.nodes.len()).for_each(|node| self.set_mail_alarm(node));
    }

    fn set_mail_alarm(&mut self, node: usize) {
        let machine = &self.machines[self.nodes[node].machine];
        let Some(inbox) = &mut self.messages.inboxes[node] else { return };
        inbox.alarms += 1;
        let (of, alarm) = (inbox.of, inbox.alarms);
        if let Some(at) = inbox.timeout.and_then(|at| machine.clock.when(at)) {
            self.put_mail(at.max(self.now), SimMailEvent::Look { of, alarm });
        }
    }

    fn carry_out_of_mail(&mut self, node: usize, output: InboxOutput) -> SimOutcome {
        let of = self.nodes[node].life(node);
        match output {
            InboxOutput::Call { id, call } => {
                let request = match call {
                    MailboxCall::Receive(receive) => MailRequest::Receive(receive),
                    MailboxCall::Ack(ack) => MailRequest::Ack(ack),
                };
                self.see(&Occurrence::MailAsked { node })?;
                self.ask_mail(MailParty::Inbox { of, call: id }, &Arc::new(request));
            }
            InboxOutput::Ready { channel } => self.take_soon(of, channel),
            InboxOutput::Deliver(message) => {
                let Some(term) = self.messages.inboxes[node].as_ref().and_then(|inbox| inbox.term) else {
                    return Ok(());
                };
                return self.begin_handling(of, term, message);
            }
            InboxOutput::Hold { term } => self.hold_lease_for_mail(node, Some(term)),
            InboxOutput::Release { term } => {
                self.hold_lease_for_mail(node, None);
                self.lease_may_go(node, term);
            }
            _ => {}
        }
        Ok(())
    }

    fn hold_lease_for_mail(&mut self, node: usize, term: Option<Term>) {
        if let Some(inbox) = &mut self.messages.inboxes[node] {
            inbox.holds = term;
        }
    }

    /// Whoever reads a channel wakes up.
    pub(super) fn take_soon(&mut self, of: Incarnation, channel: ChannelName) {
        let at = self.now + self.messages.rng.up_to(2 * MILLI);
        self.put_mail(at, SimMailEvent::Take { of, channel });
    }
}
