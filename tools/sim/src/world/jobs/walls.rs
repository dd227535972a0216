//! Wall clocks, by which jobs are due. Nothing else goes by them.

use std::time::Duration;

use tenure_core::Drift;

use super::SimJobs;
use crate::clock::{MILLI, Rate, SECOND, SimClock};
use crate::fault::FaultClass;
use crate::job::WallClockSpread;
use crate::rng::SimRng;
use crate::store::EPOCH_MS;
use crate::tally::Situation;
use crate::world::node::Machine;
use crate::world::{SimWorld, part};

/// A wall clock, as wrong as they are in this run.
pub(in crate::world) fn wall(walls: WallClockSpread, rng: &mut SimRng) -> SimClock {
    let offset = walls.offset(rng);
    let shown = (EPOCH_MS * MILLI).saturating_add_signed(offset);
    // A fifth of what the clocks of leases may be wrong is still far more than a wall clock ever is.
    let part = if walls == WallClockSpread::Alike { 0 } else { part(rng) / 5 };
    SimClock::new(shown, Rate::drifting(Drift::ONE_NINTH, part))
}

impl SimJobs {
    /// The store's.
    pub(in crate::world) fn wall<'a>(&'a self, machines: &'a [Machine]) -> &'a SimClock {
        self.wall.as_ref().unwrap_or(&machines[0].wall)
    }
}

impl SimWorld {
    pub(in crate::world) fn wall_ms(&self, node: usize) -> u64 {
        self.machines[self.nodes[node].machine].wall.at(self.now).as_nanos() / MILLI
    }

    pub(in crate::world) fn store_wall_ms(&self) -> u64 {
        self.jobs.wall(&self.machines).at(self.now).as_nanos() / MILLI
    }

    /// Somebody sets the wall clock of this candidate's machine, or of the store.
    pub(in crate::world) fn step_wall(&mut self, node: usize) {
        let rng = self.chance_of(FaultClass::WallStep);
        let by = rng.pick(&[SECOND / 2, 3 * SECOND, 20 * SECOND, 3_600 * SECOND]);
        let by = i64::try_from(by).unwrap_or_default();
        let by = if rng.percent(50) { by } else { -by };
        if rng.percent(30) { self.step_store_wall(by) } else { self.step_wall_of(node, by) }
    }

    /// The clock that leases run on may be the wall clock, and is set with it.
    pub(in crate::world) fn step_store_wall(&mut self, by: i64) {
        match &mut self.jobs.wall {
            Some(wall) => wall.step(self.now, by),
            None => self.machines[0].wall.step(self.now, by),
        }
        self.wall_was_set("the store", by);
    }

    fn step_wall_of(&mut self, node: usize, by: i64) {
        let machine = self.nodes[node].machine;
        self.machines[machine].wall.step(self.now, by);
        let whose = self.name(node);
        self.wall_was_set(&whose, by);
    }

    fn wall_was_set(&mut self, whose: &str, by: i64) {
        self.jobs.wall_set_at = self.now;
        self.count(Situation::WallSet);
        self.say(|_| {
            let how = if by < 0 { "back" } else { "forward" };
            format!("the wall clock of {whose} is set {how} by {:?}", Duration::from_nanos(by.unsigned_abs()))
        });
    }
}
