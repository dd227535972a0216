//! Whoever is told to leave has left in a bounded time, and nobody leaves who was not told to.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::SimTime;
use crate::world::View;

#[derive(Default)]
pub(crate) struct Stops {
    /// Who was told when.
    told: Vec<(usize, SimTime)>,
}

impl Invariant for Stops {
    fn name(&self) -> &'static str {
        "stops"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        // A clock that stands still waits as long as it stands.
        &[Assumption::ClocksGoOn]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::ToldToStop { node } => self.told.push((node, world.now)),
            Occurrence::Crashed { node } => self.told.retain(|(told, _)| *told != node),
            Occurrence::Stopped { node } => {
                let before = self.told.len();
                self.told.retain(|(told, _)| *told != node);
                if self.told.len() == before {
                    return Err(format!("{} has left, although nobody told it to", world.name(node)));
                }
            }
            Occurrence::Passing | Occurrence::End => {
                let late = |(node, at): &&(usize, SimTime)| world.now > world.leaves_by(*node, *at);
                if let Some((node, at)) = self.told.iter().find(late) {
                    let seconds = (world.now - at) as f64 / 1e9;
                    return Err(format!("{} was told to leave {seconds:.1} s ago", world.name(*node)));
                }
            }
            _ => (),
        }
        Ok(())
    }
}
