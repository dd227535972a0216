//! Whoever leads: opens the jobs, looks what is due, claims it, and hears what became of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_core::jobs::{
    Act, Calendar, Claim, Claimed, Interrupted, JobPolicy, JobStanding, Missed, OpenJob, OpenJobs, Opened, Overlap,
    Passed, Planner, PlannerStep, Tick,
};
use tenure_core::{Nonce, Term};

use super::{JobRequestContext, SimJobEvent};
use crate::clock::{MILLI, SECOND, SimTime};
use crate::job::SimJob;
use crate::mistake::{JobMistake, Mistake};
use crate::store::{JobReply, JobRequest, key};
use crate::tally::Situation;
use crate::world::queue::{Incarnation, SimEvent};
use crate::world::view::nanos;
use crate::world::{SimOutcome, SimWorld};

/// One leadership that fires jobs.
pub(super) struct SimScheduler {
    pub(super) of: Incarnation,
    pub(super) term: Term,
    pub(super) nonce: Nonce,
    opening: Option<PendingOpen>,
    /// When to look for what was given back late.
    open_again_at: SimTime,
    /// By job; empty until they are open.
    pub(super) scheduled_jobs: Vec<ScheduledJob>,
    /// Until when the store may take the lease for this leader's, and so grant what it was asked.
    pub(super) claimable_until: SimTime,
    /// The number of the look that counts.
    look: u64,
}

/// The request that opens the jobs.
#[derive(Clone, Copy)]
struct PendingOpen {
    id: u64,
    /// When it is given up.
    until: SimTime,
    /// Whether planners learn from it. Then nothing is claimed meanwhile: what is claimed after the store has looked, and
    /// before its answer is here, would look as if it could be claimed once more.
    is_learnt: bool,
}

/// One job under one leadership.
pub(super) struct ScheduledJob {
    pub(super) planner: Planner,
    pub(super) claim: Option<PendingClaim>,
    /// Ticks of which nobody knows whether they were claimed, because there was no answer.
    pub(super) doubtful: BTreeSet<Tick>,
    /// What was given back under this term is not begun under it: a message that says so may still be on its way.
    pub(super) given_back: Vec<Tick>,
    /// What failed is not tried again before.
    not_before: SimTime,
    pub(super) running: usize,
}

/// A claim that is under way.
#[derive(Clone, Copy)]
pub(super) struct PendingClaim {
    id: u64,
    /// When it is given up.
    until: SimTime,
    pub(super) tick: Tick,
    pub(super) act: Act,
    pub(super) asked: JobRequestContext,
}

/// How long nobody looks, at most. A clock that is set tells nobody.
const LOOK_EVERY: u64 = 800 * MILLI;
const BACK_OFF: u64 = 150 * MILLI;
/// How often a leader looks for what was given back late.
const OPEN_EVERY: u64 = 10 * SECOND;

impl SimWorld {
    pub(super) fn errs(&self, mistake: JobMistake) -> bool {
        self.options.mistake == Some(Mistake::Job(mistake))
    }

    /// Leadership begins, and jobs with it.
    pub(in crate::world) fn begin_jobs(&mut self, node: usize, term: Term) {
        let nonce = self.nodes[node].elector.as_ref().and_then(tenure_core::Elector::nonce);
        let (Some(nonce), false) = (nonce, self.options.jobs.is_empty()) else { return };
        let of = self.nodes[node].life(node);
        let (scheduled_jobs, never) = (Vec::new(), SimTime::MAX);
        let scheduler = SimScheduler {
            of,
            term,
            nonce,
            opening: None,
            open_again_at: never,
            scheduled_jobs,
            claimable_until: never,
            look: 0,
        };
        self.jobs.foremen[node] = Some(scheduler);
        self.queue.put(self.now, SimEvent::Jobs(SimJobEvent::Look { of, look: 0 }));
    }

    /// Whether it still fires jobs, and this process with it.
    pub(super) fn scheduler_of(&mut self, of: Incarnation) -> Option<&mut SimScheduler> {
        let is_alive = self.nodes[of.node].life == of.life && self.nodes[of.node].elector.is_some();
        self.jobs.foremen[of.node].as_mut().filter(|scheduler| is_alive && scheduler.of == of)
    }

    pub(super) fn leads_under(&self, node: usize) -> Option<Term> {
        let process = &self.nodes[node];
        process.leads_at(self.machines[process.machine].clock.at(self.now))
    }

    pub(super) fn look(&mut self, of: Incarnation, look: u64) -> SimOutcome {
        if self.scheduler_of(of).is_none_or(|scheduler| scheduler.look != look) {
            return Ok(());
        }
        self.look_now(of)
    }

    /// Does what is due, and sees to it that somebody looks again.
    pub(super) fn look_now(&mut self, of: Incarnation) -> SimOutcome {
        let leads = self.leads_under(of.node);
        if self.scheduler_of(of).is_none_or(|scheduler| leads != Some(scheduler.term)) {
            return Ok(());
        }
        let Some(mut scheduler) = self.jobs.foremen[of.node].take() else { return Ok(()) };
        let done = self.plan_all(&mut scheduler);
        scheduler.look += 1;
        let look = scheduler.look;
        self.jobs.foremen[of.node] = Some(scheduler);
        let next = done?.min(self.now + LOOK_EVERY).max(self.now + MILLI / 10);
        self.queue.put(next, SimEvent::Jobs(SimJobEvent::Look { of, look }));
        Ok(())
    }

    fn plan_all(&mut self, scheduler: &mut SimScheduler) -> Result<SimTime, crate::invariants::InvariantViolation> {
        scheduler.opening.take_if(|opening| self.now >= opening.until);
        let is_time = scheduler.scheduled_jobs.is_empty() || self.now >= scheduler.open_again_at;
        let is_idle = scheduler.scheduled_jobs.iter().all(|scheduled| scheduled.claim.is_none());
        if scheduler.opening.is_none() && is_time && is_idle {
            // Should it fail, ticks that are due do not wait for it.
            scheduler.open_again_at = self.now + OPEN_EVERY;
            self.open_jobs(scheduler, true);
        }
        let is_opening = scheduler.opening.map_or(is_time, |opening| opening.is_learnt);
        // Whoever has to wait for a claim before it can open the jobs is woken by that.
        let opens_at = if is_time { SimTime::MAX } else { scheduler.open_again_at };
        let mut next = scheduler.opening.map_or(opens_at, |opening| opening.until);
        for job in 0..scheduler.scheduled_jobs.len() {
            next = next.min(self.plan(scheduler, job, is_opening)?);
        }
        Ok(next)
    }

    fn open_jobs(&mut self, scheduler: &mut SimScheduler, is_learnt: bool) {
        let from = Tick::at_or_before_ms(self.wall_ms(scheduler.of.node));
        let open = |job: &SimJob| OpenJob {
            job: job.policy.job.clone(),
            schedule: Arc::from(format!("every {}", job.calendar.0)),
            from,
        };
        let jobs = self.options.jobs.iter().map(open).collect();
        let open = OpenJobs { key: key(), nonce: scheduler.nonce, term: scheduler.term, jobs };
        let asked = self.asked(scheduler.of.node, false);
        let id = self.ask(scheduler.of, JobRequest::Open(open), asked);
        scheduler.opening = Some(PendingOpen { id, until: self.now + self.patience_of(scheduler.of.node), is_learnt });
    }

    /// Looks after one job; while the jobs are to be opened, nothing new is claimed. Returns when to look again.
    fn plan(
        &mut self,
        scheduler: &mut SimScheduler,
        job: usize,
        is_opening: bool,
    ) -> Result<SimTime, crate::invariants::InvariantViolation> {
        let scheduled = &mut scheduler.scheduled_jobs[job];
        if let Some(pending) = scheduled.claim {
            if self.now < pending.until || self.errs(JobMistake::AsksOnce) {
                return Ok(pending.until.max(self.now + LOOK_EVERY));
            }
            scheduled.claim = None;
            self.unanswered(scheduler, job, pending);
            if self.errs(JobMistake::SilenceGrants) {
                self.claimed(scheduler, job, pending, Claimed::Granted)?;
            }
        }
        if is_opening {
            return Ok(self.now + LOOK_EVERY);
        }
        if self.now < scheduler.scheduled_jobs[job].not_before {
            return Ok(scheduler.scheduled_jobs[job].not_before);
        }
        let node = scheduler.of.node;
        let wall_ms = self.wall_ms(node);
        let calendar = self.options.jobs[job].calendar;
        let step = scheduler.scheduled_jobs[job].planner.next(&calendar, wall_ms);
        let step = self.mistaken_step(&scheduler.scheduled_jobs[job], job, wall_ms).unwrap_or(step);
        let (tick, act, missed, is_late, passed) = match step {
            PlannerStep::Wait { until_unix_ms } => {
                return Ok(until_unix_ms.map_or(SimTime::MAX, |until| self.when_wall_shows(node, until)));
            }
            PlannerStep::Pass { tick, count, why } => (tick, why.act(), count, false, Some(why)),
            PlannerStep::Run { tick, act, missed, late } => (tick, act, missed, late.is_some(), None),
        };
        let asked =
            JobRequestContext { is_late, passed, ..self.asked(node, scheduler.scheduled_jobs[job].running > 0) };
        self.claim(scheduler, job, (tick, act, missed), asked)
    }

    fn claim(
        &mut self,
        scheduler: &mut SimScheduler,
        job: usize,
        (tick, act, missed): (Tick, Act, u64),
        asked: JobRequestContext,
    ) -> Result<SimTime, crate::invariants::InvariantViolation> {
        let node = scheduler.of.node;
        let claim = Claim {
            key: key(),
            nonce: scheduler.nonce,
            term: scheduler.term,
            candidate: self.nodes[node].contender.candidate.id.clone(),
            job: self.options.jobs[job].policy.job.clone(),
            tick,
            act,
            missed,
        };
        let id = self.ask(scheduler.of, JobRequest::Claim(claim), asked);
        let until = self.now + self.patience_of(node);
        let pending = PendingClaim { id, until, tick, act, asked };
        scheduler.scheduled_jobs[job].claim = Some(pending);
        if self.errs(JobMistake::RunsUnclaimed) && act.is_run() {
            self.begin_run(scheduler, job, pending)?;
        }
        Ok(until)
    }

    /// An answer is there.
    pub(super) fn hear_of_jobs(&mut self, to: Incarnation, id: u64, reply: &JobReply) -> SimOutcome {
        if let JobReply::Finished(is_known) = reply {
            self.hear_of_end(id, *is_known);
        }
        if self.scheduler_of(to).is_none() {
            return Ok(());
        }
        let Some(mut scheduler) = self.jobs.foremen[to.node].take() else { return Ok(()) };
        let done = self.take_answer(&mut scheduler, id, reply);
        self.jobs.foremen[to.node] = Some(scheduler);
        done?;
        self.look_now(to)
    }

    fn take_answer(&mut self, scheduler: &mut SimScheduler, id: u64, reply: &JobReply) -> SimOutcome {
        if let Some(opening) = scheduler.opening.filter(|opening| opening.id == id) {
            // Whoever was refused tries again when the time of the first attempt is over.
            if let JobReply::Opened(Opened::Jobs(standings)) = reply {
                scheduler.opening = None;
                self.opened(scheduler, standings, opening.is_learnt);
            }
            return Ok(());
        }
        let any = self.errs(JobMistake::TakesAnyGrant) && matches!(reply, JobReply::Claimed(Claimed::Granted));
        let meant = |scheduled: &ScheduledJob| scheduled.claim.is_some_and(|pending| pending.id == id || any);
        let Some(job) = scheduler.scheduled_jobs.iter().position(meant) else { return Ok(()) };
        let Some(pending) = scheduler.scheduled_jobs[job].claim.take() else { return Ok(()) };
        // Given up: it is asked for again, if it is still wanted. Whoever was away must not fire what is late by now.
        if self.now > pending.until {
            self.unanswered(scheduler, job, pending);
            return Ok(());
        }
        match reply {
            JobReply::Claimed(claimed) => self.claimed(scheduler, job, pending, *claimed),
            // Messages may come twice here: one copy was refused, and another one may have had its effect.
            JobReply::Failed | JobReply::Opened(_) | JobReply::Finished(_) => {
                self.unanswered(scheduler, job, pending);
                scheduler.scheduled_jobs[job].not_before = self.now + BACK_OFF;
                Ok(())
            }
        }
    }

    /// How the jobs stand. If the store forgot them, their leader did not, and learns nothing.
    fn opened(&mut self, scheduler: &mut SimScheduler, standings: &[JobStanding], is_learnt: bool) {
        if scheduler.scheduled_jobs.is_empty() {
            scheduler.scheduled_jobs = self.scheduled_jobs(standings);
        } else if is_learnt {
            for (scheduled, standing) in scheduler.scheduled_jobs.iter_mut().zip(standings) {
                scheduled.planner.learn(standing.clone());
            }
        }
        let wall_ms = self.wall_ms(scheduler.of.node);
        let waits = scheduler.scheduled_jobs.iter().any(|scheduled| scheduled.planner.may_be_given_back(wall_ms));
        let opens_again = waits && !self.errs(JobMistake::NeverOpensAgain);
        scheduler.open_again_at = if opens_again { self.now + OPEN_EVERY } else { SimTime::MAX };
    }

    fn scheduled_jobs(&self, standings: &[JobStanding]) -> Vec<ScheduledJob> {
        let policies = self.options.jobs.iter().map(|job| self.policy_used(&job.policy));
        let scheduled = |(policy, standing): (JobPolicy, &JobStanding)| ScheduledJob {
            planner: Planner::new(policy, standing.clone()),
            claim: None,
            doubtful: BTreeSet::new(),
            given_back: Vec::new(),
            not_before: 0,
            running: 0,
        };
        policies.zip(standings).map(scheduled).collect()
    }

    /// What became of a claim.
    fn claimed(
        &mut self,
        scheduler: &mut SimScheduler,
        job: usize,
        pending: PendingClaim,
        claimed: Claimed,
    ) -> SimOutcome {
        let scheduled = &mut scheduler.scheduled_jobs[job];
        match claimed {
            Claimed::Early { by } if self.errs(JobMistake::TrustsFastClock) => {
                scheduled.not_before = self.now + nanos(by);
                return Ok(());
            }
            Claimed::NotHolder => scheduled.not_before = self.now + BACK_OFF,
            Claimed::Unopened => {
                scheduled.not_before = self.now + BACK_OFF;
                self.open_jobs(scheduler, false);
            }
            Claimed::Granted | Claimed::Decided { .. } | Claimed::Early { .. } | Claimed::Paused => (),
        }
        scheduler.scheduled_jobs[job].planner.claimed(pending.tick, pending.act, claimed);
        if matches!(claimed, Claimed::Granted | Claimed::Decided { .. }) {
            self.answered(scheduler, job, pending);
        }
        if claimed != Claimed::Granted || !pending.act.is_run() || self.errs(JobMistake::RunsUnclaimed) {
            return Ok(());
        }
        if scheduler.scheduled_jobs[job].given_back.contains(&pending.tick) && !self.errs(JobMistake::GivesBackWanted) {
            if self.leads_under(scheduler.of.node) != Some(scheduler.term) {
                self.count(Situation::GrantTooLate);
            }
            scheduler.scheduled_jobs[job].planner.ended();
            self.give_back(scheduler, job, pending.tick);
            return Ok(());
        }
        self.begin_run(scheduler, job, pending)
    }

    /// The policy that the planner is given: what the job wants, unless a mistake is made.
    fn policy_used(&self, wanted: &JobPolicy) -> JobPolicy {
        let mut policy = wanted.clone();
        let Some(Mistake::Job(mistake)) = self.options.mistake else { return policy };
        match (mistake, policy.missed) {
            (JobMistake::OnceInsteadOfAll, Missed::All) => policy.missed = Missed::Once,
            (JobMistake::AllInsteadOfOnce, Missed::Once) => policy.missed = Missed::All,
            (JobMistake::OnceInsteadOfSkip, Missed::Skip) => policy.missed = Missed::Once,
            (JobMistake::SkipInsteadOfOnce, Missed::Once) => policy.missed = Missed::Skip,
            (JobMistake::IgnoresOverlap, _) => policy.overlap = Overlap::Allow,
            (JobMistake::AgainUnasked, _) => policy.interrupted = Interrupted::Again,
            _ => (),
        }
        policy
    }

    /// What somebody does who leaves out the newest tick beside a run, instead of letting it wait.
    fn mistaken_step(&self, scheduled: &ScheduledJob, job: usize, wall_ms: u64) -> Option<PlannerStep> {
        let SimJob { policy, calendar, .. } = &self.options.jobs[job];
        if !self.errs(JobMistake::SkipsInsteadOfAll) || policy.missed != Missed::All || policy.overlap != Overlap::Skip
        {
            return None;
        }
        let tick = calendar.next_after(scheduled.planner.mark()).filter(|tick| policy.due_ms(*tick) <= wall_ms)?;
        let is_new = tick.age_at(wall_ms) <= policy.jitter + policy.max_late;
        let leaves_out = policy.enabled && scheduled.running > 0 && is_new;
        leaves_out.then_some(PlannerStep::Pass { tick, count: 1, why: Passed::Overlap })
    }

    /// The circumstances in which it asks.
    pub(super) fn asked(&self, node: usize, is_running: bool) -> JobRequestContext {
        let (wall_ms, store_ms) = (self.wall_ms(node), self.store_wall_ms());
        JobRequestContext { at: self.now, wall_ms, store_ms, is_running, is_late: false, passed: None }
    }

    /// How long it waits for an answer.
    pub(super) fn patience_of(&self, node: usize) -> u64 {
        nanos(self.nodes[node].contender.candidate.timing.attempt_timeout())
    }
}
