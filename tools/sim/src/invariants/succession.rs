//! When a leader resigns, or dies where deaths are seen, somebody soon leads: however many of those next in line have
//! left, died or stand still.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::SimTime;
use crate::world::View;

#[derive(Default)]
pub(crate) struct Succession {
    /// Since when nobody leads, and until when somebody has to.
    due: Option<(SimTime, SimTime)>,
}

impl Invariant for Succession {
    fn name(&self) -> &'static str {
        "succession"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[
            Assumption::ClocksGoOn,
            Assumption::StoreClockIsNotSet,
            Assumption::StoreRemembers,
            Assumption::WorkCanBeKilled,
        ]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Released | Occurrence::HolderDied => {
                self.begin(world, if world.line_answers() { world.limits.prompt } else { world.limits.succession });
            }
            Occurrence::Granted { .. } | Occurrence::Elected { .. } => self.due = None,
            Occurrence::Passing => {
                let Some((since, until)) = self.due else { return Ok(()) };
                if world.upset_at() >= since {
                    self.due = None;
                } else if world.now > until {
                    self.due = None;
                    let healthy: Vec<usize> = world.line().into_iter().filter(|node| world.is_healthy(*node)).collect();
                    if let Some(first) = healthy.first() {
                        let seconds = (world.now - since) as f64 / 1e9;
                        let name = world.name(*first);
                        return Err(format!("nobody has led for {seconds:.1} s although {name} stands by and is well"));
                    }
                }
            }
            _ => (),
        }
        Ok(())
    }
}

impl Succession {
    fn begin(&mut self, world: &View<'_>, longest: u64) {
        self.due = world.is_calm().then_some((world.now, world.now + longest));
    }
}
