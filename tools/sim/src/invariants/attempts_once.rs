//! No attempt to handle a message counts twice, and what the end of a leadership cut short counts as none.

use std::collections::BTreeMap;

use tenure_core::messages::{Message, MessageId};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::store::MailRequest;
use crate::world::{DeliveryEnd, View};

#[derive(Default)]
pub(crate) struct AttemptsOnce {
    failed: BTreeMap<MessageId, u32>,
}

impl Invariant for AttemptsOnce {
    fn name(&self) -> &'static str {
        "attempts-once"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Handled { delivery, end: DeliveryEnd::Failed } => {
                *self.failed.entry(delivery.message.id).or_default() += 1;
            }
            Occurrence::Mailed(served) if matches!(served.request, MailRequest::Ack(_)) => {
                let mailbox = world.mailbox();
                let failed = |message: &Message| self.failed.get(&message.id).copied().unwrap_or_default();
                let mut all = mailbox.pending.values().chain(mailbox.dead_letters.values());
                if let Some(message) = all.find(|message| message.attempts > failed(message)) {
                    let (id, attempts, failed) = (message.id, message.attempts, failed(message));
                    return Err(format!("{attempts} attempts of {id} count as failed, and {failed} have"));
                }
            }
            _ => (),
        }
        Ok(())
    }
}
