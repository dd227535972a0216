//! No message is handed out before all that its sender sent earlier on the same channel were handled, or were tried as often as is
//! allowed.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::messages::{MessageId, OrderingKey};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::mail::SAME_MESSAGE;
use crate::world::{DeliveryEnd, SimDelivery, View};

#[derive(Default)]
pub(crate) struct MessagesInOrder {
    /// The messages of each line that are not done with, in the order in which they were sent.
    unsettled: BTreeMap<OrderingKey, BTreeSet<u128>>,
    failed: BTreeMap<u128, u32>,
}

/// The place of a message among those of its sender, whatever else its id says.
fn place(id: MessageId) -> u128 {
    id.to_bits() & SAME_MESSAGE
}

impl MessagesInOrder {
    fn settle(&mut self, delivery: &SimDelivery) {
        if let Some(line) = self.unsettled.get_mut(&delivery.message.ordering_key()) {
            line.remove(&place(delivery.message.id));
        }
    }
}

impl Invariant for MessagesInOrder {
    fn name(&self) -> &'static str {
        "messages-in-order"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Sending(new_message) => {
                let line = OrderingKey { channel: new_message.channel.clone(), sender: new_message.sender.clone() };
                self.unsettled.entry(line).or_default().insert(place(new_message.id));
            }
            Occurrence::HandedOut(delivery) => {
                let line = self.unsettled.get(&delivery.message.ordering_key());
                let id = delivery.message.id;
                if let Some(first) = line.and_then(BTreeSet::first).filter(|first| **first < place(id)) {
                    let name = world.name(delivery.of.node);
                    return Err(format!("{name} is handed {id}, and {first:x} before it is not done with"));
                }
            }
            Occurrence::Handled { delivery, end: DeliveryEnd::Done } => self.settle(delivery),
            Occurrence::Handled { delivery, end: DeliveryEnd::Failed } => {
                let failed = self.failed.entry(place(delivery.message.id)).or_default();
                *failed += 1;
                if world.mail.is_some_and(|mail| *failed >= mail.max_attempts) {
                    self.settle(delivery);
                }
            }
            _ => (),
        }
        Ok(())
    }
}
