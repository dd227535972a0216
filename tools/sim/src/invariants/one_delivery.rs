//! A message is handed out only by a process that trusts itself at that very instant, under the term of the delivery; so it is
//! never in two hands of which both lead.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::{SimDelivery, View};

pub(crate) struct OneDelivery;

impl Invariant for OneDelivery {
    fn name(&self) -> &'static str {
        "one-delivery"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::ClocksGoOn, Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::HandedOut(delivery) = *seen else { return Ok(()) };
        let SimDelivery { of, term, message, .. } = delivery;
        let trusts = world.trusts_under(of.node);
        let (name, id) = (world.name(of.node), message.id);
        if trusts != Some(*term) {
            return Err(format!("{name} is handed {id} under term {term} while it trusts itself under {trusts:?}"));
        }
        let is_rival = |other: &&SimDelivery| {
            let is_other = other.number != delivery.number && other.message.id == id;
            is_other && world.lives(other.of) && world.trusts_under(other.of.node) == Some(other.term)
        };
        match world.deliveries.iter().find(is_rival) {
            None => Ok(()),
            Some(other) => Err(format!("{name} is handed {id} while {} handles it", world.name(other.of.node))),
        }
    }
}
