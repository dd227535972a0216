//! Attempts of runs: how they begin, how long they may take, and what follows when they end.

use std::time::Duration;

use super::tick_record::{AttemptDetails, RunStage, TickKey, TickRecord, TickStage};
use super::{EndedAttempt, JobAttempt, JobEngine, JobOutput, RunId};
use crate::jobs::calendar::Calendar;
use crate::jobs::event::{JobAnomaly, JobEvent};
use crate::jobs::mutant::JobMutant;
use crate::jobs::outcome::RunOutcome;
use crate::jobs::policy::Interrupted;

/// Ending an attempt by force takes a moment; what has not ended after this is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(1);

impl<C: Calendar> JobEngine<C> {
    /// Begins an attempt of a run.
    pub(super) fn begin(&mut self, key: TickKey, details: AttemptDetails) {
        let AttemptDetails { again, late, missed, retries, .. } = details;
        self.last_run += 1;
        let run = RunId(self.last_run);
        let spec = &self.slots[key.job].spec;
        let deadline = spec.timeout.map(|timeout| self.now + timeout);
        let (job, TickKey { term, tick, .. }) = (spec.policy.job.clone(), key);
        self.set_stage(key, TickStage::Running { run, details, limit: RunStage::Allowed, deadline });
        self.emit(JobOutput::Begin(JobAttempt { run, job, tick, term, retries, missed, late, again }));
    }

    /// An attempt has ended: the run is over, or is tried again.
    pub(super) fn attempt_ended(&mut self, ended: EndedAttempt) {
        let EndedAttempt { run, took, outcome, may_retry } = ended;
        let found = self.ticks.iter().find_map(|(key, record)| {
            let TickStage::Running { run: known, details, .. } = record.stage else { return None };
            (known == run).then_some((*key, details))
        });
        let Some((key, mut details)) = found else { return };
        details.took += took;
        let is_led = self.led().is_some_and(|leadership| leadership.term == key.term);
        let policy = &self.slots[key.job].spec.policy;
        match (outcome, policy.next_retry(details.retries)) {
            (RunOutcome::Failed { why }, Some(after)) if may_retry && is_led => {
                let event = JobEvent::Retrying { retry: details.retries + 1, after, why: why.clone() };
                self.event(key.job, key.tick, event);
                let until = self.now + after;
                self.set_stage(key, TickStage::Resting { details, why, until });
            }
            (outcome, _) => self.run_ended(key, details, outcome),
        }
    }

    /// Tries those again whose time has come.
    pub(super) fn retry(&mut self) {
        let now = self.now;
        for (key, details, _) in self.resting(|until| until <= now) {
            self.begin(key, AttemptDetails { retries: details.retries + 1, ..details });
        }
    }

    /// The leadership is over, and so are runs that wait to be tried again: they have failed, or are left to the next leader.
    pub(super) fn stop_resting(&mut self) {
        for (key, details, why) in self.resting(|_| true) {
            let outcome = if self.runs_again(key) { RunOutcome::Cancelled } else { RunOutcome::Failed { why } };
            self.run_ended(key, details, outcome);
        }
    }

    fn resting(&self, is_meant: impl Fn(crate::Instant) -> bool) -> Vec<(TickKey, AttemptDetails, String)> {
        let resting = |(key, record): (&TickKey, &TickRecord)| {
            let TickStage::Resting { details, why, until } = &record.stage else { return None };
            is_meant(*until).then(|| (*key, *details, why.clone()))
        };
        self.ticks.iter().filter_map(resting).collect()
    }

    fn run_ended(&mut self, key: TickKey, details: AttemptDetails, outcome: RunOutcome) {
        let AttemptDetails { took, retries, .. } = details;
        self.freed(key.job);
        self.event(key.job, key.tick, JobEvent::Ended { took, outcome: outcome.clone() });
        // What was cut off is left open for the next leader, if the job wants that.
        if outcome == RunOutcome::Cancelled && self.runs_again(key) {
            self.ticks.remove(&key);
        } else if outcome == RunOutcome::Cancelled && self.has(JobMutant::GivesBackBegun) {
            self.tell_later(key, took, retries, RunOutcome::NotBegun);
        } else {
            self.tell_later(key, took, retries, outcome);
        }
    }

    fn runs_again(&self, key: TickKey) -> bool {
        self.slots[key.job].spec.policy.interrupted == Interrupted::Again
    }

    /// Tells attempts that they have taken too long, ends them when they have had the time to stop, and tells of those that
    /// do not end.
    pub(super) fn enforce_limits(&mut self) {
        let (now, grace) = (self.now, self.grace);
        for (key, record) in &mut self.ticks {
            let TickStage::Running { run, limit, deadline, .. } = &mut record.stage else { continue };
            if deadline.is_none_or(|deadline| now < deadline) {
                continue;
            }
            let run = *run;
            let output = match limit {
                RunStage::Allowed => {
                    (*limit, *deadline) = (RunStage::Told, Some(now + grace));
                    JobOutput::Stop { run }
                }
                RunStage::Told => {
                    (*limit, *deadline) = (RunStage::Overdue, Some(now + STUCK_AFTER));
                    JobOutput::Kill { run }
                }
                RunStage::Overdue => {
                    *deadline = None;
                    let job = self.slots[key.job].spec.policy.job.clone();
                    JobOutput::Report(JobAnomaly::Stuck { job, tick: key.tick })
                }
            };
            self.outputs.push_back(output);
        }
    }

    /// The leadership is over, and with it the time of whatever runs: it is ended by force with all other work.
    pub(super) fn mark_overdue(&mut self) {
        let stuck_at = self.now + STUCK_AFTER;
        for record in self.ticks.values_mut() {
            if let TickStage::Running { limit, deadline, .. } = &mut record.stage
                && *limit != RunStage::Overdue
            {
                (*limit, *deadline) = (RunStage::Overdue, Some(stuck_at));
            }
        }
    }

    pub(super) fn set_stage(&mut self, key: TickKey, stage: TickStage) {
        let nonce = self.leadership.as_ref().map(|leadership| leadership.nonce);
        match (self.ticks.get_mut(&key), nonce) {
            (Some(record), _) => record.stage = stage,
            (None, Some(nonce)) => {
                self.ticks.insert(key, TickRecord { nonce, stage });
            }
            // Nothing is asked for, and so nothing is begun or given back, without a leadership.
            (None, None) => {}
        }
    }
}
