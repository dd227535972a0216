//! Runs that failed, and are tried again for the same tick.

use std::time::Duration;

use tenure_core::Instant;
use tenure_core::jobs::{Interrupted, RunOutcome};

use super::event::JobEvent;
use super::job_set::{EndedRun, OngoingRun, RunId, RunStage};
use super::run::Begin;
use super::scheduler::Scheduler;
use super::term::JobTerm;

impl Scheduler<'_> {
    /// How long to wait before a run is tried again; `None` if it is over.
    pub(super) fn retry_in(&self, running: &OngoingRun, ended: &EndedRun) -> Option<Duration> {
        let has_failed = matches!(ended.finish.outcome, RunOutcome::Failed { .. });
        let job = self.job(running.index)?;
        job.policy().next_retry(running.begin.retries).filter(|_| has_failed && ended.work.is_some())
    }

    /// Lets a run wait to be tried again. It holds on to its work, so that a resignation hears of its end first.
    pub(super) fn rest(&mut self, running: OngoingRun, ended: EndedRun, wait: Duration) {
        let RunOutcome::Failed { why } = &ended.finish.outcome else { return };
        let job_event = JobEvent::Retrying { retry: running.begin.retries + 1, after: wait, why: why.clone() };
        self.job_event(running.index, running.tick, job_event);
        let (stage, deadline) = (RunStage::Resting, Some(self.shared.clock.now() + wait));
        self.running.insert(ended.run, OngoingRun { stage, deadline, rest: Some(ended), ..running });
    }

    /// Tries those again whose time has come.
    pub(super) fn retry(&mut self, term: &JobTerm, now: Instant) {
        let is_due =
            |running: &OngoingRun| running.stage == RunStage::Resting && running.deadline.is_some_and(|at| at <= now);
        for id in self.ids(is_due) {
            let Some(OngoingRun { index, begin, rest: Some(ended), .. }) = self.running.remove(&id) else { continue };
            let EndedRun { mut finish, work: Some(work), .. } = ended else { continue };
            let begin = Begin { retries: begin.retries + 1, ..begin };
            finish.retries = begin.retries;
            self.attempt(index, begin, &term.leadership, finish, work);
        }
    }

    /// The leadership is over, and so are runs that wait to be tried again: they have failed, or are left to the next leader.
    pub(super) fn stop_resting(&mut self, mut term: Option<&mut JobTerm>) {
        for id in self.ids(|running| running.stage == RunStage::Resting) {
            let Some(OngoingRun { index, rest: Some(mut ended), .. }) = self.running.remove(&id) else { continue };
            if self.job(index).is_some_and(|job| job.policy().interrupted == Interrupted::Again) {
                ended.finish.outcome = RunOutcome::Cancelled;
            }
            self.ended(term.as_deref_mut(), index, ended);
        }
    }

    fn ids(&self, is_meant: impl Fn(&OngoingRun) -> bool) -> Vec<RunId> {
        self.running.iter().filter(|(_, running)| is_meant(running)).map(|(id, _)| *id).collect()
    }
}
