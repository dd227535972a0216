//! Once a leader has opened its jobs, a job is shown as absent exactly if that leader does not have it. Showing it, or taking
//! it back, decides nothing: a mark moves when jobs are opened only if the schedule is another one.

use std::sync::Arc;

use tenure_core::Term;
use tenure_core::jobs::{Claimed, Opened, present_schedule};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::store::{JobReply, JobRequest};
use crate::world::{ServedJobRequest, View};

#[derive(Default)]
pub(crate) struct AbsentShown {
    /// By job: its schedule as it was written when jobs were last opened.
    written: Vec<Option<Arc<str>>>,
    /// By job: under which term it became known, or its schedule another one. It began at the present then, and a request that is late
    /// moves the mark to what was the present when it was sent.
    changed: Vec<Option<Term>>,
    /// Under which term, and with which edition of its jobs, a leader last opened some.
    newest: Option<(Term, u64)>,
    /// A term under which an opening of an older edition came after one of a newer edition. It wrote down what was true before,
    /// and is put right under the next term at the latest.
    muddled: Option<Term>,
}

impl AbsentShown {
    fn open(&mut self, world: &View<'_>, served: &ServedJobRequest<'_>, term: Term) -> Result<(), String> {
        let of = (term, served.asked.editions);
        if self.newest.is_some_and(|newest| newest.0 == term && of < newest) {
            self.muddled = Some(term);
        }
        self.newest = self.newest.max(Some(of));
        let now: Vec<_> = world.jobs.iter().map(|job| world.schedule(&job.policy.job).cloned()).collect();
        let mut before = std::mem::replace(&mut self.written, now);
        before.resize(self.written.len(), None);
        self.changed.resize(self.written.len(), None);
        for (index, (before, after)) in before.iter().zip(&self.written).enumerate() {
            if before.as_deref().map(schedule) != after.as_deref().map(schedule) {
                self.changed[index] = Some(term);
            }
            let (Some(before), Some(after)) = (before, after) else { continue };
            let may_be_late = self.muddled == Some(term) && self.changed[index] == Some(term);
            let (from, to) = (served.before[index], served.after[index]);
            if from.is_some() && from != to && schedule(before) == schedule(after) && !may_be_late {
                let job = &world.jobs[index].policy.job;
                return Err(format!("the mark of {job} moves from {from:?} to {to:?}, and {before:?} is as it was"));
            }
        }
        Ok(())
    }

    /// Whoever claims a tick knows that its jobs are open, and nobody else has opened any since.
    fn look(&self, world: &View<'_>, served: &ServedJobRequest<'_>, term: Term) -> Result<(), String> {
        let node = served.from.node;
        let is_current = world.lives(served.from) && world.editions(node) == served.asked.editions;
        if self.muddled == Some(term) || !is_current {
            return Ok(());
        }
        for (index, job) in world.jobs.iter().enumerate() {
            let Some(written) = world.schedule(&job.policy.job) else { continue };
            let has = world.calendar(node, index).is_some();
            if has == present_schedule(written).is_some() {
                let (leader, job) = (world.name(node), &job.policy.job);
                let how = if has { "has" } else { "does not have" };
                return Err(format!("{leader} {how} {job}, and it is shown as {written:?}"));
            }
        }
        Ok(())
    }
}

/// The same, whether or not the job is absent.
fn schedule(written: &str) -> &str {
    present_schedule(written).unwrap_or(written)
}

impl Invariant for AbsentShown {
    fn name(&self) -> &'static str {
        "absent-shown"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Served(served) = seen else { return Ok(()) };
        match (served.request, served.reply) {
            (JobRequest::Open(open), JobReply::Opened(Opened::Jobs(_))) => self.open(world, served, open.term),
            (JobRequest::Claim(claim), JobReply::Claimed(Claimed::Granted)) => self.look(world, served, claim.term),
            _ => Ok(()),
        }
    }
}
