//! What a leader has said of a message holds: it is not handed out again once the mailbox has accepted that it is done with, nor
//! under the term under which it was handled. The one exception is made by its sender: a message that is sent again when it is not
//! there any more is another one.

use std::collections::BTreeSet;

use tenure_core::Term;
use tenure_core::messages::{AckOutcome, AckReply, MessageId};
use tenure_core::store_rules::mailbox::SendReply;

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::store::{MailReply, MailRequest};
use crate::world::{DeliveryEnd, ServedMail, View};

#[derive(Default)]
pub(crate) struct HandledOnce {
    accepted: BTreeSet<MessageId>,
    /// Those that were accepted more than once: what is said of one may be meant for the other.
    again: BTreeSet<MessageId>,
    gone: BTreeSet<MessageId>,
    handled: BTreeSet<(MessageId, Term)>,
}

impl HandledOnce {
    fn serve(&mut self, served: &ServedMail<'_>) {
        match (served.request, served.reply) {
            (MailRequest::Send(new_message), MailReply::Sent(SendReply::Accepted)) => {
                let is_new = self.accepted.insert(new_message.id);
                self.again.extend((!is_new).then_some(new_message.id));
            }
            (MailRequest::Ack(ack), MailReply::Acked(AckReply::Accepted { .. })) => {
                let done = ack.outcomes.iter().filter(|(_, outcome)| !matches!(outcome, AckOutcome::Failed { .. }));
                self.gone.extend(done.map(|(id, _)| *id));
            }
            _ => {}
        }
    }
}

impl Invariant for HandledOnce {
    fn name(&self) -> &'static str {
        "handled-once"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::ClocksGoOn, Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Mailed(served) => self.serve(served),
            Occurrence::Handled { delivery, end: DeliveryEnd::Done } => {
                self.handled.insert((delivery.message.id, delivery.term));
            }
            Occurrence::HandedOut(delivery) if !self.again.contains(&delivery.message.id) => {
                let (name, id, term) = (world.name(delivery.of.node), delivery.message.id, delivery.term);
                if self.gone.contains(&id) {
                    return Err(format!("{name} is handed {id}, and the mailbox knows that it is done with"));
                }
                if self.handled.contains(&(id, term)) {
                    return Err(format!("{name} is handed {id} under term {term}, and has handled it under that term"));
                }
            }
            _ => (),
        }
        Ok(())
    }
}
