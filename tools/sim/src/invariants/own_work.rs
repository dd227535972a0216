//! No process is elected beside work of its own that has not ended.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

pub(crate) struct OwnWork;

impl Invariant for OwnWork {
    fn name(&self) -> &'static str {
        "own-work"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Elected { node, term } = *seen else { return Ok(()) };
        match world.works_under(node) {
            None => Ok(()),
            Some(old) => {
                Err(format!("{} is elected under term {term} while its work of term {old} runs", world.name(node)))
            }
        }
    }
}
