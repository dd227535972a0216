//! Claiming ticks, and letting their runs begin.

use tenure_core::WriteOutcome;
use tenure_core::jobs::{Claim, Claimed, Finish, JobStanding, OpenJobs, Opened, Tick};

use super::event::{JobError, JobEvent};
use super::finish::GivenBackTick;
use super::job::Job;
use super::job_set::{JobSlot, OngoingRun, RunStage};
use super::run::{Begin, JobRun, RunLimit};
use super::scheduler::{LedgerCallError, LedgerCallResult, Scheduler};
use super::term::{JobTerm, PlannedClaim};
use crate::leadership::{Leadership, Work};

impl Scheduler<'_> {
    /// Says which jobs there are, and hears how they stand.
    pub(super) async fn open(&mut self, term: &mut JobTerm) -> LedgerCallResult {
        let unix_ms = self.shared.clock.unix_ms();
        self.gave_back = false;
        let standings = self.ask_standings(term, unix_ms).await?;
        let running = self.running.values().map(|running| running.index);
        term.open(self.slots.iter().map(|slot| &*slot.job), standings, running);
        term.learn_later(self.shared.clock.now());
        self.report_marks(term, unix_ms);
        Ok(())
    }

    /// Hears which ticks were given back by now.
    pub(super) async fn learn(&mut self, term: &mut JobTerm) -> LedgerCallResult {
        let unix_ms = self.shared.clock.unix_ms();
        // Should it fail, ticks that are due do not wait for it.
        term.learn_later(self.shared.clock.now());
        let standings = self.ask_standings(term, unix_ms).await?;
        term.learn(standings);
        term.learn_later(self.shared.clock.now());
        Ok(())
    }

    async fn ask_standings(&self, term: &JobTerm, unix_ms: u64) -> Result<Vec<JobStanding>, LedgerCallError> {
        let request = OpenJobs {
            key: self.shared.key.clone(),
            nonce: term.nonce,
            term: term.leadership.term(),
            jobs: self.current().map(|slot| slot.job.open_from(unix_ms)).collect(),
        };
        match self.in_time(self.ledger.open(&request)).await.map_err(LedgerCallError::Store)? {
            Opened::Jobs(standings) => Ok(self.in_places(standings)),
            Opened::NotHolder => Err(LedgerCallError::NotHolder),
            Opened::TooMany => Err(LedgerCallError::TooMany),
        }
    }

    fn current(&self) -> impl Iterator<Item = &JobSlot> {
        self.slots.iter().filter(|slot| slot.is_current)
    }

    /// Puts each standing in the place of its job. What is gone stands still.
    fn in_places(&self, standings: Vec<JobStanding>) -> Vec<JobStanding> {
        let gone = JobStanding {
            mark: Tick::default(),
            interrupted: Vec::new(),
            unbegun: Vec::new(),
            is_paused: true,
            requested: None,
        };
        let mut standings = standings.into_iter();
        let mut in_place =
            |slot: &JobSlot| if slot.is_current { standings.next() } else { None }.unwrap_or_else(|| gone.clone());
        self.slots.iter().map(&mut in_place).collect()
    }

    /// Claims ticks, and does with each what the ledger says.
    pub(super) async fn claim(&mut self, term: &mut JobTerm, planned_claims: &[PlannedClaim]) -> LedgerCallResult {
        let (planned_claims, batch): (Vec<PlannedClaim>, Vec<Claim>) = planned_claims
            .iter()
            .filter_map(|planned| self.job(planned.index).map(|job| (*planned, self.claim_of(term, &job, planned))))
            .unzip();
        term.ask(&planned_claims);
        let own_ms = self.shared.clock.unix_ms();
        let replies = self.all_in_time(batch.len(), self.ledger.claim(&batch)).await;
        let mut progress = Ok(());
        for (planned, reply) in planned_claims.iter().zip(replies) {
            let unwanted = match &reply {
                Ok(claimed) => term.answered(planned, *claimed),
                Err(error) if error.failure() == WriteOutcome::Unknown => term.unanswered(planned),
                Err(_) => term.refused(planned),
            };
            for tick in unwanted {
                self.abandon(term, planned.index, tick, GivenBackTick::Doubtful);
            }
            let went = match reply {
                Ok(claimed) => self.claimed(term, planned, claimed, own_ms),
                Err(error) => Err(LedgerCallError::Store(error)),
            };
            progress = progress.and(went);
        }
        term.release();
        progress
    }

    /// Tells once of each mark that is far in the future.
    pub(super) fn report_marks(&self, term: &mut JobTerm, unix_ms: u64) {
        for (index, mark) in term.marks_ahead(self.shared.clock.now(), unix_ms) {
            if let Some(job) = self.job(index) {
                self.error(JobError::MarkAhead { job: job.name().clone(), mark });
            }
        }
    }

    fn claimed(
        &mut self,
        term: &mut JobTerm,
        planned: &PlannedClaim,
        claimed: Claimed,
        own_ms: u64,
    ) -> LedgerCallResult {
        match claimed {
            Claimed::Granted => match planned.passed {
                Some((count, why)) => self.job_event(planned.index, planned.tick, JobEvent::Passed { count, why }),
                None => self.begin(term, planned),
            },
            Claimed::Decided { .. } | Claimed::Paused => {}
            Claimed::Early { by } => {
                // The planner allows for it from now on.
                if !std::mem::replace(&mut term.told_of_clock, true) {
                    self.error(JobError::ClockAhead { by: by + planned.tick.age_at(own_ms) });
                }
            }
            Claimed::Unopened => term.close(),
            Claimed::NotHolder => return Err(LedgerCallError::NotHolder),
        }
        Ok(())
    }

    /// Begins a run, unless it is too late for that.
    fn begin(&mut self, term: &mut JobTerm, planned: &PlannedClaim) {
        let Some(job) = self.job(planned.index) else { return };
        let Some(work) = term.begin(planned) else {
            term.ended(planned.index);
            self.abandon(term, planned.index, planned.tick, GivenBackTick::Claimed);
            return;
        };
        let PlannedClaim { index, tick, again, missed, late, .. } = *planned;
        let begin = Begin { job: job.name().clone(), tick, again, late, missed, retries: 0 };
        let finish = self.finish_of(term.nonce, &term.leadership, &job, tick);
        self.job_event(index, tick, JobEvent::Fired { late, missed, again });
        self.attempt(index, begin, &term.leadership, finish, work);
    }

    /// Begins an attempt of a run.
    pub(super) fn attempt(&mut self, index: usize, begin: Begin, of: &Leadership, finish: Finish, work: Work) {
        let (tick, limit) = (begin.tick, RunLimit::default());
        let Some(slot) = self.slots.get(index) else { return };
        let (handler, timeout) = (slot.handler.clone(), slot.job.timeout_after());
        let deadline = timeout.map(|timeout| self.shared.clock.now() + timeout);
        let run = JobRun::new(begin.clone(), of.clone(), limit.clone());
        let id = self.job_set.next_run();
        let running = OngoingRun { index, tick, limit, stage: RunStage::Allowed, deadline, begin, rest: None };
        self.running.insert(id, running);
        self.job_set.begin(handler, id, run, finish, work);
    }

    fn claim_of(&self, term: &JobTerm, job: &Job, planned: &PlannedClaim) -> Claim {
        Claim {
            key: self.shared.key.clone(),
            nonce: term.nonce,
            term: term.leadership.term(),
            candidate: self.shared.candidate.clone(),
            job: job.name().clone(),
            tick: planned.tick,
            act: planned.act,
            missed: planned.missed,
        }
    }
}
