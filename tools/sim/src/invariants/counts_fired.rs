//! A job has fired as often as its ticks were granted and not given back: those that began, those whose leader was gone before
//! they could, and those of which that is not decided yet.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::jobs::{Claimed, Tick};
use tenure_core::{JobName, Term};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::store::{JobReply, JobRequest};
use crate::world::{ServedJobRequest, SimJobRun, View};

#[derive(Default)]
pub(crate) struct CountsFired {
    /// Granted, and not given back; by job.
    taken: BTreeMap<JobName, BTreeSet<(Tick, Term)>>,
}

impl CountsFired {
    fn serve(&mut self, world: &View<'_>, served: &ServedJobRequest<'_>) -> Result<(), String> {
        let job = match (served.request, served.reply) {
            (JobRequest::Claim(claim), JobReply::Claimed(Claimed::Granted)) if claim.act.is_run() => {
                self.taken.entry(claim.job.clone()).or_default().insert((claim.tick, claim.term));
                &claim.job
            }
            (JobRequest::Finish(finish), JobReply::Finished(true)) if served.request.gives_back() => {
                // What was told first counts: a run whose end is known is not given back any more.
                if let Some(taken) = self.taken.get_mut(&finish.job)
                    && !world.is_ended(&finish.job, finish.tick, finish.term)
                {
                    taken.remove(&(finish.tick, finish.term));
                }
                &finish.job
            }
            _ => return Ok(()),
        };
        let Some(index) = world.jobs.iter().position(|known| known.policy.job == *job) else { return Ok(()) };
        let (taken, fired) = (self.taken.get(job).map_or(0, BTreeSet::len), served.fired[index]);
        if u64::try_from(taken) == Ok(fired) {
            return Ok(());
        }
        Err(format!("{job} has fired {fired} times by the store's count, and {taken} of its ticks are taken"))
    }

    fn begin(&self, world: &View<'_>, run: &SimJobRun) -> Result<(), String> {
        let (job, tick, term) = (&world.jobs[run.job].policy.job, run.tick, run.term);
        if self.taken.get(job).is_some_and(|taken| taken.contains(&(tick, term))) {
            return Ok(());
        }
        Err(format!("{tick} of {job} begins under term {term}, and does not count as fired"))
    }
}

impl Invariant for CountsFired {
    fn name(&self) -> &'static str {
        "counts-fired"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Served(served) => self.serve(world, served),
            Occurrence::RunBegan(run) => self.begin(world, run),
            _ => Ok(()),
        }
    }
}
