//! The mark of a job never falls, whoever leads and whatever clocks say.

use tenure_core::jobs::Tick;

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

#[derive(Default)]
pub(crate) struct MarksGrow {
    /// By job.
    highest: Vec<Option<Tick>>,
}

impl Invariant for MarksGrow {
    fn name(&self) -> &'static str {
        "marks-grow"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Served(served) = seen else { return Ok(()) };
        self.highest.resize(served.after.len(), None);
        for ((highest, mark), job) in self.highest.iter_mut().zip(served.after).zip(world.jobs) {
            if mark < highest {
                return Err(format!("the mark of {} falls from {highest:?} to {mark:?}", job.policy.job));
            }
            *highest = *mark;
        }
        Ok(())
    }
}
