//! Editions of the jobs: what is written in a candidate's file, and what its process has taken in since.
//!
//! Now and then somebody changes the files of some candidates and tells their processes, as SIGHUP does.

use std::num::NonZeroU64;
use std::sync::Arc;

use tenure_core::jobs::{Every, JobInput, JobSpec};

use super::{SimJobEvent, SimJobs};
use crate::fault::FaultClass;
use crate::invariants::Occurrence;
use crate::job::SimJob;
use crate::tally::Situation;
use crate::world::queue::{Incarnation, SimEvent};
use crate::world::{SimOutcome, SimWorld};

/// By the place of a job: when it is due, if it is there.
pub(super) type SimEdition = Arc<[Option<Every>]>;

/// What all candidates begin with.
pub(super) fn first_edition(jobs: &[SimJob]) -> SimEdition {
    jobs.iter().map(|job| Some(job.calendar)).collect()
}

impl SimJobs {
    /// When a job is due by what the process of this candidate has taken in; `None` if it does not have the job.
    pub(in crate::world) fn calendar(&self, node: usize, job: usize) -> Option<Every> {
        self.engines[node].as_ref().and_then(|engine| engine.edition[job])
    }

    /// How many editions the process of this candidate has taken in.
    pub(in crate::world) fn editions(&self, node: usize) -> u64 {
        self.engines[node].as_ref().map_or(0, |engine| engine.editions)
    }
}

impl SimWorld {
    /// Somebody changes the file of a candidate, and perhaps those of others as well. To elections nothing happens.
    pub(in crate::world) fn change_files(&mut self) {
        self.schedule(FaultClass::Reload);
        let edition = self.next_edition();
        let count = self.nodes.len();
        let first = self.chance_of(FaultClass::Reload).index(count);
        for node in 0..count {
            if node != first && self.chance_of(FaultClass::Reload).percent(50) {
                continue;
            }
            self.jobs.files[node] = Arc::clone(&edition);
            let of = self.nodes[node].life(node);
            self.queue.put(self.now, SimEvent::Jobs(SimJobEvent::Reload { of }));
        }
    }

    /// Some jobs are gone, or are back, and some are due at other times.
    fn next_edition(&mut self) -> SimEdition {
        let periods: Vec<u64> = self.options.jobs.iter().map(|job| job.calendar.0.get()).collect();
        let rng = self.chance_of(FaultClass::Reload);
        let mut calendar = |period: u64| {
            let every = rng.pick(&[0, period, period, period, period + 1, 2 * period]);
            NonZeroU64::new(every).map(Every)
        };
        periods.into_iter().map(&mut calendar).collect()
    }

    /// A process takes in what is in its file by now.
    pub(super) fn reload(&mut self, of: Incarnation) -> SimOutcome {
        let edition = Arc::clone(&self.jobs.files[of.node]);
        let Some(engine) = self.engine_of(of) else { return Ok(()) };
        (engine.edition, engine.editions) = (edition, engine.editions + 1);
        self.count(Situation::JobsReloaded);
        let jobs = self.loaded(of.node);
        self.say(|world| {
            let said = |job: &JobSpec<Every>| format!("{} {}", job.policy.job, job.schedule);
            format!("{} loads {:?}", world.name(of.node), jobs.iter().map(said).collect::<Vec<_>>())
        });
        self.see(&Occurrence::Reloaded { node: of.node })?;
        self.feed_jobs(of.node, JobInput::Jobs(jobs))
    }

    /// The jobs that a process has taken in, as its engine is given them.
    pub(super) fn loaded(&self, node: usize) -> Vec<JobSpec<Every>> {
        let jobs = self.options.jobs.iter().enumerate();
        jobs.filter_map(|(index, job)| Some(self.spec(job, self.jobs.calendar(node, index)?))).collect()
    }
}
