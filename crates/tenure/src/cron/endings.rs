//! How runs end, and telling the store of it.

use std::time::Duration;

use tenure_core::cron::{Finish, Interrupted, Outcome, Tick};
use tenure_core::{Instant, Nonce};

use super::job::Job;
use super::news::{JobNews, JobTrouble};
use super::roster::{Ended, Running, Stage};
use super::scheduler::{Progress, Scheduler, Setback, TOGETHER, Untold};
use super::term::Term;
use crate::leadership::{Leadership, Work};

/// How long after a leadership the store is still told how its runs ended.
const TELL_FOR: Duration = Duration::from_secs(60);
/// Dropping a future takes a moment; what has not ended after this is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(1);

impl Scheduler<'_> {
    /// Takes note of the runs that have ended.
    pub(super) fn collect(&mut self, mut term: Option<&mut Term>) {
        for Ended { run, finish, work } in self.roster.take_ended() {
            let Some(Running { index, .. }) = self.running.remove(&run) else { continue };
            if let Some(term) = &mut term {
                term.ended(index);
            }
            let (job, tick) = (finish.job.clone(), finish.tick);
            match &finish.outcome {
                Outcome::Failed { why } => self.trouble(JobTrouble::Failed { job, tick, why: why.clone() }),
                Outcome::TimedOut => self.trouble(JobTrouble::TimedOut { job, tick }),
                Outcome::Succeeded | Outcome::Cancelled | Outcome::NotBegun => {}
            }
            let (took, outcome) = (finish.took, finish.outcome.clone());
            self.news(index, tick, JobNews::Ended { took, outcome });
            self.tell_later(index, finish, work);
        }
    }

    /// Tells the store how runs have ended; `None` when there is nothing to tell.
    pub(super) async fn tell(&mut self) -> Option<Progress> {
        let batch: Vec<Finish> = self.untold.iter().take(TOGETHER).map(|untold| untold.finish.clone()).collect();
        if batch.is_empty() {
            return None;
        }
        let mut progress = Ok(());
        for reply in self.all_in_time(batch.len(), self.ledger.finish(&batch)).await {
            let Some(untold) = self.untold.pop_front() else { break };
            // Whether it is written down or known no more: there is nothing left to tell.
            if let Err(error) = reply {
                self.untold.push_back(untold);
                progress = progress.and(Err(Setback::Store(error)));
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
                Stage::Allowed => {
                    running.limit.passed.cancel();
                    (Stage::Told, Some(now + self.grace))
                }
                Stage::Told => {
                    running.limit.overdue.cancel();
                    (Stage::Overdue, Some(now + STUCK_AFTER))
                }
                Stage::Overdue => {
                    stuck.push((running.index, running.tick));
                    (Stage::Overdue, None)
                }
            };
        }
        for (index, tick) in stuck {
            if let Some(job) = self.roster.job(index) {
                self.trouble(JobTrouble::Stuck { job: job.name().clone(), tick });
            }
        }
    }

    /// The leadership is over, and so is the time of its runs.
    pub(super) fn end(&mut self, term: Term) {
        self.collect(None);
        let now = self.shared.clock.now();
        for running in self.running.values_mut().filter(|running| running.stage != Stage::Overdue) {
            (running.stage, running.deadline) = (Stage::Overdue, Some(now + STUCK_AFTER));
        }
        let (nonce, leadership) = (term.nonce, term.leadership.clone());
        for (index, tick) in term.into_doubtful() {
            self.abandon(nonce, &leadership, index, tick);
        }
        self.grow_old(now);
    }

    /// What has not been told does not keep a lease any more, and is not told for ever.
    pub(super) fn grow_old(&mut self, now: Instant) {
        for untold in &mut self.untold {
            untold.work = None;
            untold.until.get_or_insert(now + TELL_FOR);
        }
        self.untold.retain(|untold| untold.until.is_none_or(|until| now < until));
    }

    /// A tick that may have been claimed, and is not run.
    pub(super) fn abandon(&mut self, nonce: Nonce, leadership: &Leadership, index: usize, tick: Tick) {
        let roster = self.roster;
        if let Some(job) = roster.job(index) {
            self.tell_later(index, self.finish_of(nonce, leadership, job, tick), None);
        }
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
            outcome: Outcome::Cancelled,
        }
    }

    /// What was cut off is left open for the next leader, if the job wants that.
    fn tell_later(&mut self, index: usize, finish: Finish, work: Option<Work>) {
        let again = self.roster.job(index).is_some_and(|job| job.policy().interrupted == Interrupted::Again);
        if !(again && finish.outcome == Outcome::Cancelled) {
            self.untold.push_back(Untold { finish, work, until: None });
        }
    }
}
