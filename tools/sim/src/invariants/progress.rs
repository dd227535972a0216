//! While nothing new goes wrong and somebody is well, somebody comes to lead, even if others stay cut off.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::SimTime;
use crate::world::View;

#[derive(Default)]
pub(crate) struct Progress {
    led_at: SimTime,
}

impl Invariant for Progress {
    fn name(&self) -> &'static str {
        "progress"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        // A lease that the store's clock put into the future is waited for.
        &[Assumption::StoreClockIsNotSet, Assumption::StoreRemembers, Assumption::WorkCanBeKilled]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        if !matches!(seen, Occurrence::Passing) {
            return Ok(());
        }
        if world.nodes().any(|node| world.is_trusted(node)) || !world.nodes().any(|node| world.is_healthy(node)) {
            self.led_at = world.now;
            return Ok(());
        }
        let since = self.led_at.max(world.disturbed_at);
        if world.now > since + world.limits.patience {
            let healthy: Vec<&str> =
                world.nodes().filter(|node| world.is_healthy(*node)).map(|node| world.name(node)).collect();
            let seconds = (world.now - since) as f64 / 1e9;
            return Err(format!("nobody has led for {seconds:.1} s although {} is well", healthy.join(" and ")));
        }
        Ok(())
    }
}
