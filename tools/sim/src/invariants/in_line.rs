//! A candidate that follows and is well stands in line, so that a resignation or a death reaches it.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::{SECOND, SimTime};
use crate::world::View;

/// Longer than a candidate that has just left leadership rests before it stands again.
const MAX_RESTS: u64 = 2 * SECOND;

#[derive(Default)]
pub(crate) struct InLine {
    /// By candidate: when it last stood in line, or could not be expected to.
    seen_at: Vec<SimTime>,
}

impl Invariant for InLine {
    fn name(&self) -> &'static str {
        "in-line"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::ClocksGoOn, Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        if !matches!(seen, Occurrence::Passing) {
            return Ok(());
        }
        self.seen_at.resize(world.nodes().len(), 0);
        // A lease that nobody holds is campaigned for, and not waited for.
        let is_free = world.lease_left().is_zero();
        for (node, seen_at) in self.seen_at.iter_mut().enumerate() {
            if is_free || !world.is_healthy(node) || world.is_in_line(node) {
                *seen_at = world.now;
            }
            let since = world.upset_at().max(*seen_at);
            if world.now > since + world.limits.calm + MAX_RESTS {
                let seconds = (world.now - since) as f64 / 1e9;
                let name = world.name(node);
                return Err(format!("{name} follows, is well, and has not stood in line for {seconds:.1} s"));
            }
        }
        Ok(())
    }
}
