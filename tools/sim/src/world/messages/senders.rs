//! Senders: they leave one message after the other, and each again under the same id until they know what became of it.

use std::sync::Arc;

use tenure_core::Sender;
use tenure_core::messages::{MessageId, NewMessage};
use tenure_core::store_rules::mailbox::SendReply;

use super::SimMailEvent;
use super::event::MailParty;
use crate::clock::SECOND;
use crate::invariants::Occurrence;
use crate::mail::SimSender;
use crate::mistake::{MessageMistake, Mistake};
use crate::store::{MailReply, MailRequest, key};
use crate::tally::Situation;
use crate::world::{SimOutcome, SimWorld};

/// How long a sender waits for an answer.
const PATIENCE: u64 = SECOND;

/// One sender, as it is now.
pub(super) struct SenderState {
    sender: SimSender,
    /// The life of the process it is in.
    life: u32,
    /// How many messages it has begun to send.
    sent: u32,
    /// What it does not know the end of.
    message: Option<NewMessage>,
    /// How often it was tried.
    attempts: u64,
}

impl SenderState {
    pub(super) fn new(sender: SimSender) -> Self {
        Self { sender, life: 0, sent: 0, message: None, attempts: 0 }
    }

    /// The candidate in whose process it is.
    pub(super) fn inside(&self) -> Option<usize> {
        self.sender.inside
    }
}

impl SimWorld {
    pub(in crate::world) fn schedule_senders(&mut self) {
        (0..self.messages.senders.len()).for_each(|sender| self.send_soon(sender));
    }

    fn send_soon(&mut self, sender: usize) {
        let state = &self.messages.senders[sender];
        if state.sent < state.sender.count {
            let every = state.sender.every;
            let at = self.now + self.messages.rng.interval(every);
            self.put_mail(at, SimMailEvent::Send { sender });
        }
    }

    fn sender_errs(&self, mistake: MessageMistake) -> bool {
        self.options.mistake == Some(Mistake::Message(mistake))
    }

    /// A sender whose process is not there waits for it. One that began again knows nothing of what it sent before.
    pub(super) fn send_next(&mut self, sender: usize) -> SimOutcome {
        if let Some(node) = self.messages.senders[sender].inside() {
            if self.nodes[node].elector.is_none() {
                self.send_soon(sender);
                return Ok(());
            }
            self.messages.senders[sender].life = self.nodes[node].life;
        }
        let Some(mail) = &self.options.mail else { return Ok(()) };
        let channel = mail.channels[self.messages.rng.index(mail.channels.len())].clone();
        let state = &mut self.messages.senders[sender];
        state.sent += 1;
        let name = format!("{sender}.{}", state.life);
        let id = (sender as u128) << 64 | u128::from(state.life) << 32 | u128::from(state.sent);
        let new_message = NewMessage {
            key: key(),
            id: MessageId::from_bits(id),
            channel,
            sender: Sender::new(name).expect("digits and a point are a valid name"),
            payload: Arc::from("null"),
        };
        state.message = Some(new_message.clone());
        self.see(&Occurrence::Sending(&new_message))?;
        self.try_to_send(sender, false);
        Ok(())
    }

    fn try_to_send(&mut self, sender: usize, is_again: bool) {
        let takes_new_id = is_again && self.sender_errs(MessageMistake::NewIdAgain);
        let state = &mut self.messages.senders[sender];
        let Some(mut new_message) = state.message.clone() else { return };
        state.attempts += 1;
        let (attempt, number) = (state.attempts, state.sent);
        if takes_new_id {
            new_message.id = MessageId::from_bits(new_message.id.to_bits() | u128::from(attempt) << 96);
        }
        let at = self.now + PATIENCE + self.messages.rng.up_to(PATIENCE);
        self.put_mail(at, SimMailEvent::SendAgain { sender, attempt });
        self.ask_mail(MailParty::Sender { sender, number }, &Arc::new(MailRequest::Send(new_message)));
    }

    pub(super) fn send_again(&mut self, sender: usize, attempt: u64) -> SimOutcome {
        let state = &mut self.messages.senders[sender];
        if state.attempts != attempt || state.message.is_none() {
            return Ok(());
        }
        let is_gone = |node: usize| self.nodes[node].elector.is_none() || self.nodes[node].life != state.life;
        if state.inside().is_some_and(is_gone) {
            state.message = None;
            self.send_soon(sender);
            return Ok(());
        }
        self.try_to_send(sender, true);
        Ok(())
    }

    /// An answer is there. What was not accepted is sent again later.
    pub(super) fn hear_of_sending(&mut self, sender: usize, number: u32, reply: &MailReply) {
        let goes_on = self.sender_errs(MessageMistake::SendsOn);
        let state = &mut self.messages.senders[sender];
        if state.sent != number || state.message.is_none() {
            return;
        }
        match reply {
            MailReply::Sent(SendReply::Accepted | SendReply::Known) => {
                state.message = None;
                self.send_soon(sender);
            }
            MailReply::Failed(_) if goes_on => {
                // It tries this one again after the next one.
                let left = state.message.take();
                self.send_soon(sender);
                if let Some(new_message) = left {
                    let again = Arc::new(MailRequest::Send(new_message));
                    let from = MailParty::Sender { sender, number };
                    let at = self.now + 10 * PATIENCE;
                    self.put_mail(at, SimMailEvent::AtStore { from, request: again });
                }
            }
            MailReply::Sent(SendReply::Full) => self.count(Situation::MailboxFull),
            MailReply::Sent(SendReply::TooLarge)
            | MailReply::Failed(_)
            | MailReply::Received(_)
            | MailReply::Acked(_) => {}
        }
    }
}
