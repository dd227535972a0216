//! How runs end, and telling the store of it.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::jobs::{Finish, Interrupted, RunOutcome, Tick};
use tenure_core::{Instant, Nonce};

use super::event::{JobError, JobEvent};
use super::job::Job;
use super::job_set::{EndedRun, RunStage};
use super::scheduler::{LedgerCallError, LedgerCallResult, Scheduler, TOGETHER, UnreportedEnd};
use super::term::JobTerm;
use crate::leadership::{Leadership, Work};

/// How long after a leadership the store is still told how its runs ended.
const TELL_FOR: Duration = Duration::from_secs(60);
/// The same for ticks that are given back: somebody waits for them.
const GIVE_BACK_FOR: Duration = Duration::from_secs(60 * 60);
/// When a tick is given back once more that the store did not know.
const TELL_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// For so many ttls after a leadership its lease may be alive in the store, which grants a claim that comes so late: a renewal
/// that was on its way as well may have made it last longer.
const DOUBT_TTLS: u32 = 3;
/// Dropping a future takes a moment; what has not ended after this is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(1);

/// What is known of a tick that is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenBackTick {
    /// It was claimed.
    Claimed,
    /// Nobody knows: the answer was lost, and the claim may still be on its way.
    Doubtful,
}

impl Scheduler<'_> {
    /// Takes note of the runs that have ended.
    pub(super) fn collect(&mut self, mut term: Option<&mut JobTerm>) {
        for ended in self.job_set.take_ended() {
            let Some(running) = self.running.remove(&ended.run) else { continue };
            let leadership = term.as_ref().map(|term| &term.leadership).filter(|leads| !leads.is_cancelled());
            match leadership.and_then(|_| self.retry_in(&running, &ended)) {
                Some(wait) => self.rest(running, ended, wait),
                None => self.ended(term.as_deref_mut(), running.index, ended),
            }
        }
    }

    /// A run is over.
    pub(super) fn ended(&mut self, term: Option<&mut JobTerm>, index: usize, EndedRun { finish, work, .. }: EndedRun) {
        if let Some(term) = term {
            term.ended(index);
        }
        let (job, tick) = (finish.job.clone(), finish.tick);
        match &finish.outcome {
            RunOutcome::Failed { why } => self.error(JobError::Failed { job, tick, why: why.clone() }),
            RunOutcome::TimedOut => self.error(JobError::TimedOut { job, tick }),
            RunOutcome::Succeeded | RunOutcome::Cancelled | RunOutcome::NotBegun => {}
        }
        let (took, outcome) = (finish.took, finish.outcome.clone());
        self.job_event(index, tick, JobEvent::Ended { took, outcome });
        self.tell_later(index, finish, work.map(Arc::new), None);
    }

    /// Tells the store how runs have ended; `None` when there is nothing to tell.
    pub(super) async fn tell(&mut self) -> Option<LedgerCallResult> {
        let now = self.shared.clock.now();
        while let Some((_, untold)) = self.doubted.pop_front_if(|(at, _)| *at <= now) {
            self.untold.push_back(untold);
        }
        let batch: Vec<Finish> = self.untold.iter().take(TOGETHER).map(|untold| untold.finish.clone()).collect();
        if batch.is_empty() {
            return None;
        }
        let mut progress = Ok(());
        for reply in self.all_in_time(batch.len(), self.ledger.finish(&batch)).await {
            let Some(untold) = self.untold.pop_front() else { break };
            match reply {
                Ok(true) => self.gave_back |= untold.finish.outcome == RunOutcome::NotBegun,
                Ok(false) if untold.doubt_until.is_some_and(|until| now < until) => {
                    // The lease does not wait for what may never come.
                    self.doubted.push_back((now + TELL_AGAIN_AFTER, UnreportedEnd { work: None, ..untold }));
                }
                // Known no more: there is nothing left to tell.
                Ok(false) => {}
                Err(error) => {
                    self.untold.push_back(untold);
                    progress = progress.and(Err(LedgerCallError::Store(error)));
                }
            }
        }
        Some(progress)
    }

    /// Tells runs that they have taken too long, drops them when they have had the time to end, and tells of those that
    /// cannot be dropped.
    pub(super) fn enforce_limits(&mut self, now: Instant) {
        let mut stuck = Vec::new();
        for running in self.running.values_mut() {
            if running.deadline.is_none_or(|deadline| now < deadline) {
                continue;
            }
            (running.stage, running.deadline) = match running.stage {
                // Its turn comes when there is a leadership to begin it under.
                RunStage::Resting => continue,
                RunStage::Allowed => {
                    running.limit.passed.cancel();
                    (RunStage::Told, Some(now + self.grace))
                }
                RunStage::Told => {
                    running.limit.overdue.cancel();
                    (RunStage::Overdue, Some(now + STUCK_AFTER))
                }
                RunStage::Overdue => {
                    stuck.push((running.index, running.tick));
                    (RunStage::Overdue, None)
                }
            };
        }
        for (index, tick) in stuck {
            if let Some(job) = self.job(index) {
                self.error(JobError::Stuck { job: job.name().clone(), tick });
            }
        }
    }

    /// The leadership is over, and so is the time of its runs.
    pub(super) fn end(&mut self, mut term: JobTerm) {
        self.collect(None);
        let now = self.shared.clock.now();
        self.stop_resting(None);
        for running in self.running.values_mut().filter(|running| running.stage != RunStage::Overdue) {
            (running.stage, running.deadline) = (RunStage::Overdue, Some(now + STUCK_AFTER));
        }
        self.give_back(&mut term);
        self.grow_old(now);
    }

    /// Nothing begins any more: what may have been claimed is given back.
    pub(super) fn give_back(&mut self, term: &mut JobTerm) {
        for (index, tick) in term.take_doubtful() {
            self.abandon(term, index, tick, GivenBackTick::Doubtful);
        }
        term.release();
    }

    /// What has not been told does not keep a lease any more, and is not told for ever.
    pub(super) fn grow_old(&mut self, now: Instant) {
        for untold in &mut self.untold {
            let tell_for = if untold.finish.outcome == RunOutcome::NotBegun { GIVE_BACK_FOR } else { TELL_FOR };
            untold.work = None;
            untold.until.get_or_insert(now + tell_for);
        }
        self.untold.retain(|untold| untold.until.is_none_or(|until| now < until));
    }

    /// Gives back a tick that is not run although it was claimed, or may have been.
    pub(super) fn abandon(&mut self, term: &mut JobTerm, index: usize, tick: Tick, standing: GivenBackTick) {
        let Some(job) = self.job(index) else { return };
        let finish = self.finish_of(term.nonce, &term.leadership, &job, tick);
        let finish = Finish { outcome: RunOutcome::NotBegun, ..finish };
        term.gives_back(index, tick);
        let doubt_until =
            (standing == GivenBackTick::Doubtful).then(|| self.shared.clock.now() + self.ttl * DOUBT_TTLS);
        self.tell_later(index, finish, term.held(), doubt_until);
    }

    /// What is to be told of a run unless it ends otherwise.
    pub(super) fn finish_of(&self, nonce: Nonce, leadership: &Leadership, job: &Job, tick: Tick) -> Finish {
        Finish {
            key: self.shared.key.clone(),
            nonce,
            term: leadership.term(),
            job: job.name().clone(),
            tick,
            took: Duration::ZERO,
            retries: 0,
            outcome: RunOutcome::Cancelled,
        }
    }

    /// What was cut off is left open for the next leader, if the job wants that.
    fn tell_later(&mut self, index: usize, finish: Finish, work: Option<Arc<Work>>, doubt_until: Option<Instant>) {
        let again = self.job(index).is_some_and(|job| job.policy().interrupted == Interrupted::Again);
        if !(again && finish.outcome == RunOutcome::Cancelled) {
            self.untold.push_back(UnreportedEnd { finish, work, until: None, doubt_until });
        }
    }
}
