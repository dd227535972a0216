//! Whoever is told to leave has left in a bounded time, and nobody leaves who was not told to.

use super::{Invariant, Seen};
use crate::assumption::Assumption;
use crate::clock::True;
use crate::world::View;

#[derive(Default)]
pub(crate) struct Stops {
    /// Who was told when.
    told: Vec<(usize, True)>,
}

impl Invariant for Stops {
    fn name(&self) -> &'static str {
        "stops"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        // A clock that stands still waits as long as it stands.
        &[Assumption::ClocksGoOn]
    }

    fn see(&mut self, world: &View<'_>, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::ToldToStop { node } => self.told.push((node, world.now)),
            Seen::Crashed { node } => self.told.retain(|(told, _)| *told != node),
            Seen::Stopped { node } => {
                let before = self.told.len();
                self.told.retain(|(told, _)| *told != node);
                if self.told.len() == before {
                    return Err(format!("{} has left, although nobody told it to", world.name(node)));
                }
            }
            Seen::Passing | Seen::End => {
                let late = |(node, at): &&(usize, True)| world.now > world.leaves_by(*node, *at);
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
