//! No tick of a job fires twice, whatever clocks and leaders do. The one exception is asked for by the job: a run whose end
//! was never told is run again, by a later leader.

use std::collections::BTreeMap;

use tenure_core::Term;
use tenure_core::jobs::{Act, Interrupted, Tick};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::store::{JobReply, JobRequest};
use crate::world::{SimJobRun, View};

#[derive(Default)]
pub(crate) struct FiresOnce {
    /// By job and tick: under which term it fired last.
    fired: BTreeMap<(usize, Tick), Fired>,
}

struct Fired {
    term: Term,
    /// It was run again.
    is_again: bool,
    /// The store has confirmed its end.
    is_told: bool,
}

impl FiresOnce {
    fn begin(&mut self, world: &View<'_>, run: &SimJobRun) -> Result<(), String> {
        let policy = &world.jobs[run.job].policy;
        let is_again = run.act == Act::RunAgain;
        let now = Fired { term: run.term, is_again, is_told: false };
        let Some(before) = self.fired.insert((run.job, run.tick), now) else { return Ok(()) };
        let Fired { term, is_told, .. } = before;
        let wants = policy.interrupted == Interrupted::Again;
        if wants && is_again && !is_told && run.term > term {
            return Ok(());
        }
        if wants && before.is_again && run.term < term {
            // What was granted before begins beside what was run again for it. Then two lead, and others say whether
            // that may be.
            self.fired.insert((run.job, run.tick), before);
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

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match seen {
            Occurrence::RunBegan(run) => self.begin(world, run),
            Occurrence::Served(served) => {
                if let (JobRequest::Finish(finish), JobReply::Finished(true)) = (served.request, served.reply) {
                    let job = world.jobs.iter().position(|job| job.policy.job == finish.job);
                    let known = job.and_then(|job| self.fired.get_mut(&(job, finish.tick)));
                    if let Some(fired) = known.filter(|fired| fired.term == finish.term) {
                        fired.is_told = true;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
