//! At most one candidate trusts itself at any true instant.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

pub(crate) struct OneLeader;

impl Invariant for OneLeader {
    fn name(&self) -> &'static str {
        "one-leader"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::ClocksGoOn, Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    /// Trust only begins, or goes on, with an election or a renewal: whoever else is trusted then is one too many. It
    /// does not matter whether the other one is running: nothing tells it that it must not act when it wakes.
    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let (node, term) = match *seen {
            Occurrence::Elected { node, term }
            | Occurrence::Trusted { node, term }
            | Occurrence::Acted { node, term } => (node, term),
            _ => return Ok(()),
        };
        match world.others(node).find(|other| world.is_trusted(*other)) {
            None => Ok(()),
            Some(other) => {
                Err(format!("{} leads under term {term} while {} does", world.name(node), world.name(other)))
            }
        }
    }
}
