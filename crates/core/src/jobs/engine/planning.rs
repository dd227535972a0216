//! What is due, and claiming it.

use super::tick_record::{PlannedClaim, TickKey, TickRecord, TickStage};
use super::{JobEngine, LedgerCall, Question, TOGETHER};
use crate::jobs::calendar::Calendar;
use crate::jobs::mutant::JobMutant;
use crate::jobs::planner::{Planner, PlannerStep};
use crate::jobs::request::{Act, Claim};
use crate::jobs::tick::Tick;

/// How many jobs are planned before others have a turn. Counting what was missed takes time, and no lease must wait for it.
const PLANNED_AT_A_STRETCH: usize = 10;

impl<C: Calendar> JobEngine<C> {
    /// Plans what is due, and claims it once that is all.
    pub(super) fn plan(&mut self) {
        if self.wall_clock.was_set(self.now, self.unix_ms) {
            // Everything may be due, or have a mark in the future.
            if let Some(leadership) = &mut self.leadership {
                leadership.planned.clear();
                leadership.due.all_now();
            }
            self.report_marks(self.unix_ms);
        }
        for _ in 0..PLANNED_AT_A_STRETCH {
            let Some(leadership) = &mut self.leadership else { return };
            let due = leadership.due.first_due(self.unix_ms).filter(|_| leadership.planned.len() < TOGETHER);
            let Some(job) = due else { return self.claim() };
            let slot = &mut self.slots[job];
            let step = slot.planner.as_mut().map(|planner| planner.next(&slot.spec.calendar, self.unix_ms));
            let never_began = |tick| slot.planner.as_ref().is_some_and(|planner| planner.never_began(tick));
            let planned = match step {
                None => {
                    leadership.due.set(job, None);
                    continue;
                }
                Some(PlannerStep::Wait { until_unix_ms }) => {
                    leadership.due.set(job, until_unix_ms);
                    continue;
                }
                Some(PlannerStep::Pass { tick, count, why }) => PlannedClaim {
                    job,
                    tick,
                    act: why.act(),
                    again: false,
                    missed: count,
                    late: None,
                    passed: Some((count, why)),
                },
                Some(PlannerStep::Run { tick, act, missed, late }) => {
                    let again = act == Act::RunAgain && !never_began(tick);
                    PlannedClaim { job, tick, act, again, missed, late, passed: None }
                }
            };
            // It is looked at again when there is an answer.
            leadership.due.set(job, None);
            leadership.planned.push(planned);
        }
    }

    /// Claims what was planned.
    fn claim(&mut self) {
        let Some(leadership) = &mut self.leadership else { return };
        let (nonce, term) = (leadership.nonce, leadership.term);
        let planned = std::mem::take(&mut leadership.planned);
        if planned.is_empty() {
            return;
        }
        self.hold();
        let claim = |planned: &PlannedClaim| Claim {
            key: self.key.clone(),
            nonce,
            term,
            candidate: self.candidate.clone(),
            job: self.slots[planned.job].spec.policy.job.clone(),
            tick: planned.tick,
            act: planned.act,
            missed: planned.missed,
        };
        let batch = planned.iter().map(claim).collect();
        for PlannedClaim { job, tick, .. } in planned.iter().filter(|planned| planned.act.is_run()) {
            let asked = |was_doubtful| TickRecord { nonce, stage: TickStage::Asked { was_doubtful } };
            let key = TickKey { term, job: *job, tick: *tick };
            let record = self.ticks.entry(key).or_insert_with(|| asked(false));
            if matches!(record.stage, TickStage::Doubtful) {
                *record = asked(true);
            }
        }
        if self.has(JobMutant::RunsUnclaimed) {
            planned.iter().filter(|planned| planned.act.is_run()).for_each(|planned| self.fire(planned));
        }
        self.call(Question::Claim(planned), LedgerCall::Claim(batch));
    }

    /// A run of a job has ended, or is not begun after all.
    pub(super) fn freed(&mut self, job: usize) {
        if let Some(planner) = &mut self.slots[job].planner {
            planner.ended();
        }
        self.look_at(job);
    }

    pub(super) fn look_at(&mut self, job: usize) {
        if let Some(leadership) = &mut self.leadership {
            leadership.look_at(job);
        }
    }

    pub(super) fn mark(&self, job: usize) -> Option<Tick> {
        self.slots[job].planner.as_ref().map(Planner::mark)
    }
}
