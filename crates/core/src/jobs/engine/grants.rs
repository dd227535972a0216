//! What a ledger says to claims, and what follows from it.

use std::time::Duration;

use super::tick_record::{AttemptDetails, PlannedClaim, TickKey, TickStage};
use super::{JobEngine, JobOutput, LedgerFailure};
use crate::election::input::WriteOutcome;
use crate::jobs::calendar::Calendar;
use crate::jobs::event::{JobAnomaly, JobEvent};
use crate::jobs::mutant::JobMutant;
use crate::jobs::request::Claimed;

impl<C: Calendar> JobEngine<C> {
    /// Does with each tick what the ledger says. Nobody knows what became of those it does not mention.
    pub(super) fn claimed(
        &mut self,
        planned: &[PlannedClaim],
        replies: &[Result<Claimed, WriteOutcome>],
        unix_ms: u64,
    ) -> Result<(), LedgerFailure> {
        let mut went = Ok(());
        for (index, planned) in planned.iter().enumerate() {
            let reply = replies.get(index).copied();
            self.settle(planned, reply.unwrap_or(Err(WriteOutcome::Unknown)));
            went = went.and(match reply {
                Some(Ok(claimed)) => self.follow(planned, claimed, unix_ms),
                Some(Err(_)) => Err(LedgerFailure::Failed),
                None => Err(LedgerFailure::Unanswered),
            });
        }
        went
    }

    /// Takes note of what is known by now of a tick that was asked for, and of those before it of which nobody knew anything.
    pub(super) fn settle(&mut self, planned: &PlannedClaim, reply: Result<Claimed, WriteOutcome>) {
        let Some(key) = self.key_of(planned) else { return };
        self.look_at(key.job);
        if let (Ok(claimed), Some(planner)) = (reply, &mut self.slots[key.job].planner) {
            planner.claimed(planned.tick, planned.act, claimed);
        }
        match reply {
            Ok(Claimed::Granted | Claimed::Decided { .. }) => {
                // The same tick is run now, or was decided by somebody else; if it is passed over, it may still count as begun.
                if planned.act.is_run() && self.is_asked(key) {
                    self.ticks.remove(&key);
                }
                self.give_back_unwanted(key.job);
            }
            Err(WriteOutcome::Unknown) if planned.act.is_run() => {
                self.give_back_unwanted(key.job);
                if self.is_asked(key) && !self.has(JobMutant::GivesBackWanted) {
                    self.set_stage(key, TickStage::Doubtful);
                } else if self.is_asked(key) || self.ticks.get(&key).is_some_and(super::TickRecord::is_given_back) {
                    self.abandon(key, true);
                }
            }
            // Surely it had no effect.
            Ok(Claimed::Early { .. } | Claimed::Paused | Claimed::Unopened | Claimed::NotHolder) | Err(_) => {
                match self.ticks.get(&key).map(|record| &record.stage) {
                    Some(TickStage::Asked { was_doubtful: true }) if planned.act.is_run() => {
                        self.set_stage(key, TickStage::Doubtful);
                    }
                    Some(TickStage::Asked { was_doubtful: false }) if planned.act.is_run() => {
                        self.ticks.remove(&key);
                    }
                    _ => {}
                }
            }
        }
    }

    fn follow(&mut self, planned: &PlannedClaim, claimed: Claimed, unix_ms: u64) -> Result<(), LedgerFailure> {
        match claimed {
            Claimed::Granted => match planned.passed {
                Some((count, why)) => self.event(planned.job, planned.tick, JobEvent::Passed { count, why }),
                None => self.granted(planned),
            },
            Claimed::Decided { .. } | Claimed::Paused => {}
            Claimed::Early { by } => {
                // The planner allows for it from now on.
                let reported = self.leadership.as_mut().map(|leadership| &mut leadership.clock_reported);
                if reported.is_some_and(|reported| !std::mem::replace(reported, true)) {
                    let by = by + planned.tick.age_at(unix_ms);
                    self.emit(JobOutput::Report(JobAnomaly::ClockAhead { by }));
                }
            }
            Claimed::Unopened => self.close(),
            Claimed::NotHolder => return Err(LedgerFailure::NotHolder),
        }
        Ok(())
    }

    /// Begins a run, unless it is too late for that.
    fn granted(&mut self, planned: &PlannedClaim) {
        let Some(key) = self.key_of(planned) else { return };
        match self.ticks.get(&key) {
            // A job that was forgotten begins anew, perhaps with a tick that it had let go of,
            Some(record) if record.is_given_back() && !self.has(JobMutant::GivesBackWanted) => {
                self.freed(key.job);
                self.abandon(key, false);
            }
            // or with one that was begun.
            Some(record) if !record.is_given_back() => self.freed(key.job),
            _ if self.led().is_none() => {
                self.freed(key.job);
                self.abandon(key, false);
            }
            _ => self.fire(planned),
        }
    }

    /// Begins a run.
    pub(super) fn fire(&mut self, planned: &PlannedClaim) {
        let Some(key) = self.key_of(planned) else { return };
        let PlannedClaim { again, late, missed, .. } = *planned;
        self.event(key.job, key.tick, JobEvent::Fired { late, missed, again });
        self.begin(key, AttemptDetails { again, late, missed, retries: 0, took: Duration::ZERO });
    }

    /// Gives back the doubtful ticks of a job that are behind its mark. What is yet to come will be claimed once more, and what is
    /// given back is not begun under this term.
    fn give_back_unwanted(&mut self, job: usize) {
        let Some(mark) = self.mark(job) else { return };
        let is_unwanted = |key: &TickKey| key.job == job && key.tick <= mark;
        self.give_back_where(is_unwanted);
    }

    fn key_of(&self, planned: &PlannedClaim) -> Option<TickKey> {
        let term = self.leadership.as_ref()?.term;
        Some(TickKey { term, job: planned.job, tick: planned.tick })
    }

    fn is_asked(&self, key: TickKey) -> bool {
        self.ticks.get(&key).is_some_and(|record| matches!(record.stage, TickStage::Asked { .. }))
    }
}
