//! A message leaves the line only when it was handled under the very term that says so, or when as many attempts have failed as
//! are allowed.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::Term;
use tenure_core::messages::{AckOutcome, AckReply, MessageId};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::store::{MailReply, MailRequest};
use crate::world::{DeliveryEnd, View};

#[derive(Default)]
pub(crate) struct AtLeastOnce {
    /// Which messages were handled, and under which terms.
    handled: BTreeSet<(MessageId, Term)>,
    failed: BTreeMap<MessageId, u32>,
}

impl Invariant for AtLeastOnce {
    fn name(&self) -> &'static str {
        "at-least-once"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Handled { delivery, end: DeliveryEnd::Done } => {
                self.handled.insert((delivery.message.id, delivery.term));
            }
            Occurrence::Handled { delivery, end: DeliveryEnd::Failed } => {
                *self.failed.entry(delivery.message.id).or_default() += 1;
            }
            Occurrence::Mailed(served) => {
                let (MailRequest::Ack(ack), MailReply::Acked(AckReply::Accepted { .. })) =
                    (served.request, served.reply)
                else {
                    return Ok(());
                };
                let allowed = world.mail.map_or(0, |mail| mail.max_attempts);
                for (id, outcome) in &ack.outcomes {
                    let failed = self.failed.get(id).copied().unwrap_or_default();
                    match outcome {
                        AckOutcome::Done if !self.handled.contains(&(*id, ack.term)) => {
                            return Err(format!(
                                "{id} is removed under term {}, and was not handled under it",
                                ack.term
                            ));
                        }
                        AckOutcome::DeadLettered { .. } if failed < allowed => {
                            return Err(format!("{id} becomes a dead letter after {failed} of {allowed} attempts"));
                        }
                        AckOutcome::Done | AckOutcome::DeadLettered { .. } | AckOutcome::Failed { .. } => {}
                    }
                }
            }
            _ => (),
        }
        Ok(())
    }
}
