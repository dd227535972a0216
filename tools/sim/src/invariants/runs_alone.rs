//! Runs of one job do not overlap in true time unless the job allows it, and a run that is run again never overlaps the
//! first.

use tenure_core::jobs::Overlap;

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::{SimJobRun, View};

pub(crate) struct RunsAlone;

impl Invariant for RunsAlone {
    fn name(&self) -> &'static str {
        "runs-alone"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &Assumption::ALL
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::RunBegan(run) = *seen else { return Ok(()) };
        let policy = &world.jobs[run.job].policy;
        let is_rival = |other: &&SimJobRun| {
            let is_other = other.id != run.id && other.job == run.job;
            is_other && (policy.overlap != Overlap::Allow || other.tick == run.tick) && world.goes_on(other)
        };
        match world.runs.iter().find(is_rival) {
            None => Ok(()),
            Some(other) => {
                let [name, rival] = [run, other].map(|run| world.name(run.of.node));
                let (tick, earlier) = (run.tick, other.tick);
                Err(format!("{name} runs {tick} of {} while {rival} runs {earlier}", policy.job))
            }
        }
    }
}
