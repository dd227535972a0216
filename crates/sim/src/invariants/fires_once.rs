//! No tick of a job fires twice, whatever clocks and leaders do. The one exception is asked for by the job: a run whose end
//! was never told is run again, by a later leader.

use std::collections::BTreeMap;

use tenure_core::Term;
use tenure_core::cron::{Act, Interrupted, Tick};

use super::{Invariant, Seen};
use crate::assumption::Assumption;
use crate::store::{JobReply, JobRequest};
use crate::world::{Run, View};

#[derive(Default)]
pub(crate) struct FiresOnce {
    /// By job and tick: under which term it fired last, and whether the store has confirmed its end.
    fired: BTreeMap<(usize, Tick), (Term, bool)>,
}

impl FiresOnce {
    fn begin(&mut self, world: &View<'_>, run: &Run) -> Result<(), String> {
        let policy = &world.jobs[run.job].policy;
        let before = self.fired.insert((run.job, run.tick), (run.term, false));
        let Some((term, is_told)) = before else { return Ok(()) };
        let wants = policy.interrupted == Interrupted::Again && run.act == Act::RunAgain;
        if wants && !is_told && run.term > term {
            return Ok(());
        }
        let told = if is_told { ", and its end was told" } else { "" };
        let (job, tick, name) = (&policy.job, run.tick, world.name(run.of.node));
        Err(format!("{name} fires {tick} of {job} under term {}, which fired under term {term}{told}", run.term))
    }
}

impl Invariant for FiresOnce {
    fn name(&self) -> &'static str {
        "fires-once"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::RunBegan(run) => self.begin(world, run),
            Seen::Served(served) => {
                if let (JobRequest::Finish(finish), JobReply::Finished(true)) = (served.request, served.reply) {
                    let job = world.jobs.iter().position(|job| job.policy.job == finish.job);
                    let known = job.and_then(|job| self.fired.get_mut(&(job, finish.tick)));
                    if let Some((term, is_told)) = known
                        && *term == finish.term
                    {
                        *is_told = true;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
