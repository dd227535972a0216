//! The mailbox has every message that was accepted, once, until a leader has said that it is done with: whatever leaders do, and
//! whoever leads.

use std::collections::BTreeMap;

use tenure_core::messages::{Ack, AckOutcome, AckReply, MessageId, MessageState, NewMessage};
use tenure_core::store_rules::mailbox::SendReply;

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::mail::SAME_MESSAGE;
use crate::store::{MailReply, MailRequest};
use crate::world::{ServedMail, View};

#[derive(Default)]
pub(crate) struct MessagesKept {
    /// Where each message has to be.
    kept: BTreeMap<MessageId, MessageState>,
}

impl MessagesKept {
    fn accept(&mut self, new_message: &NewMessage) -> Result<(), String> {
        let id = new_message.id;
        let is_copy = |known: &&MessageId| known.to_bits() & SAME_MESSAGE == id.to_bits() & SAME_MESSAGE;
        if let Some(known) = self.kept.keys().find(is_copy) {
            return Err(format!("{id} is accepted while {known}, which is the same, is there"));
        }
        self.kept.insert(id, MessageState::Pending);
        Ok(())
    }

    fn settle(&mut self, ack: &Ack) {
        for (id, outcome) in &ack.outcomes {
            match (self.kept.get_mut(id), outcome) {
                (Some(MessageState::Pending), AckOutcome::Done) => drop(self.kept.remove(id)),
                (Some(state), AckOutcome::DeadLettered { .. }) => *state = MessageState::DeadLetter,
                _ => {}
            }
        }
    }

    fn serve(&mut self, world: &View<'_>, served: &ServedMail<'_>) -> Result<(), String> {
        match (served.request, served.reply) {
            (MailRequest::Send(new_message), MailReply::Sent(SendReply::Accepted)) => self.accept(new_message)?,
            (MailRequest::Ack(ack), MailReply::Acked(AckReply::Accepted { .. })) => self.settle(ack),
            _ => {}
        }
        let mailbox = world.mailbox();
        let is_missing =
            |(id, state): &(&MessageId, &MessageState)| mailbox.places.get(*id).is_none_or(|(at, _)| at != *state);
        if let Some((id, state)) = self.kept.iter().find(is_missing) {
            return Err(format!("{id} has to be {state:?}, and is not"));
        }
        let there = mailbox.pending.len() + mailbox.dead_letters.len();
        let kept = self.kept.len();
        if there == kept { Ok(()) } else { Err(format!("there are {there} messages, and {kept} have to be")) }
    }
}

impl Invariant for MessagesKept {
    fn name(&self) -> &'static str {
        "messages-kept"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Mailed(served) => self.serve(world, served),
            _ => Ok(()),
        }
    }
}
