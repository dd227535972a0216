//! Runs that failed, and are tried again for the same tick.

use std::time::Duration;

use tenure_core::Instant;
use tenure_core::cron::{Interrupted, Outcome};

use super::news::JobNews;
use super::roster::{Ended, RunId, Running, Stage};
use super::run::Begin;
use super::scheduler::Scheduler;
use super::term::Term;

impl Scheduler<'_> {
    /// How long to wait before a run is tried again; `None` if it is over.
    pub(super) fn retry_in(&self, running: &Running, ended: &Ended) -> Option<Duration> {
        let has_failed = matches!(ended.finish.outcome, Outcome::Failed { .. });
        let job = self.job(running.index)?;
        job.policy().next_retry(running.begin.retries).filter(|_| has_failed && ended.work.is_some())
    }

    /// Lets a run wait to be tried again. It holds on to its work, so that a resignation hears of its end first.
    pub(super) fn rest(&mut self, running: Running, ended: Ended, wait: Duration) {
        let Outcome::Failed { why } = &ended.finish.outcome else { return };
        let news = JobNews::Retrying { retry: running.begin.retries + 1, after: wait, why: why.clone() };
        self.news(running.index, running.tick, news);
        let (stage, deadline) = (Stage::Resting, Some(self.shared.clock.now() + wait));
        self.running.insert(ended.run, Running { stage, deadline, rest: Some(ended), ..running });
    }

    /// Tries those again whose time has come.
    pub(super) fn retry(&mut self, term: &Term, now: Instant) {
        let is_due =
            |running: &Running| running.stage == Stage::Resting && running.deadline.is_some_and(|at| at <= now);
        for id in self.ids(is_due) {
            let Some(Running { index, begin, rest: Some(ended), .. }) = self.running.remove(&id) else { continue };
            let Ended { mut finish, work: Some(work), .. } = ended else { continue };
            let begin = Begin { retries: begin.retries + 1, ..begin };
            finish.retries = begin.retries;
            self.attempt(index, begin, &term.leadership, finish, work);
        }
    }

    /// The leadership is over, and so are runs that wait to be tried again: they have failed, or are left to the next leader.
    pub(super) fn stop_resting(&mut self, mut term: Option<&mut Term>) {
        for id in self.ids(|running| running.stage == Stage::Resting) {
            let Some(Running { index, rest: Some(mut ended), .. }) = self.running.remove(&id) else { continue };
            if self.job(index).is_some_and(|job| job.policy().interrupted == Interrupted::Again) {
                ended.finish.outcome = Outcome::Cancelled;
            }
            self.ended(term.as_deref_mut(), index, ended);
        }
    }

    fn ids(&self, is_meant: impl Fn(&Running) -> bool) -> Vec<RunId> {
        self.running.iter().filter(|(_, running)| is_meant(running)).map(|(id, _)| *id).collect()
    }
}
