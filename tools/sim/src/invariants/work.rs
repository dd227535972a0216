//! Work runs nowhere else while it runs here, from its beginning to the end of its grace.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

pub(crate) struct WorkIsAlone;

impl Invariant for WorkIsAlone {
    fn name(&self) -> &'static str {
        "work-is-alone"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &Assumption::ALL
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Works { node, term } = *seen else { return Ok(()) };
        match world.others(node).find(|other| world.works(*other)) {
            None => Ok(()),
            Some(other) => {
                Err(format!("{} works under term {term} while {} works", world.name(node), world.name(other)))
            }
        }
    }
}
