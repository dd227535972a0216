//! Whoever leads: opens the jobs, looks what is due, claims it, and hears what became of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_core::cron::{
    Act, Calendar, Claim, Claimed, Interrupted, JobStanding, Missed, Open, OpenJob, Opened, Overlap, Passed, Planner,
    Policy, Step, Tick,
};
use tenure_core::{Nonce, Term};

use super::{Asked, JobEvent};
use crate::clock::{MILLI, SECOND, True};
use crate::job::Job;
use crate::mistake::{JobMistake, Mistake};
use crate::store::{JobReply, JobRequest, key};
use crate::tally::Situation;
use crate::world::queue::{Event, Life};
use crate::world::view::nanos;
use crate::world::{Outcome, World};

/// One leadership that fires jobs.
pub(super) struct Foreman {
    pub(super) of: Life,
    pub(super) term: Term,
    pub(super) nonce: Nonce,
    opening: Option<Opening>,
    /// When to look for what was given back late.
    open_again_at: True,
    /// By job; empty until they are open.
    pub(super) duties: Vec<Duty>,
    /// Until when the store may take the lease for this leader's, and so grant what it was asked.
    pub(super) claimable_until: True,
    /// The number of the look that counts.
    look: u64,
}

/// The request that opens the jobs.
#[derive(Clone, Copy)]
struct Opening {
    id: u64,
    /// When it is given up.
    until: True,
    /// Whether planners learn from it. Then nothing is claimed meanwhile: what is claimed after the store has looked, and
    /// before its answer is here, would look as if it could be claimed once more.
    is_learnt: bool,
}

/// One job under one leadership.
pub(super) struct Duty {
    pub(super) planner: Planner,
    pub(super) claim: Option<Pending>,
    /// Ticks of which nobody knows whether they were claimed, because there was no answer.
    pub(super) doubtful: BTreeSet<Tick>,
    /// What was given back under this term is not begun under it: a message that says so may still be on its way.
    pub(super) given_back: Vec<Tick>,
    /// What failed is not tried again before.
    not_before: True,
    pub(super) running: usize,
}

/// A claim that is under way.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    id: u64,
    /// When it is given up.
    until: True,
    pub(super) tick: Tick,
    pub(super) act: Act,
    pub(super) asked: Asked,
}

/// How long nobody looks, at most. A clock that is set tells nobody.
const LOOK_EVERY: u64 = 800 * MILLI;
const BACK_OFF: u64 = 150 * MILLI;
/// How often a leader looks for what was given back late.
const OPEN_EVERY: u64 = 10 * SECOND;

impl World {
    pub(super) fn errs(&self, mistake: JobMistake) -> bool {
        self.options.mistake == Some(Mistake::Job(mistake))
    }

    /// Leadership begins, and jobs with it.
    pub(in crate::world) fn begin_jobs(&mut self, node: usize, term: Term) {
        let nonce = self.nodes[node].elector.as_ref().and_then(tenure_core::Elector::nonce);
        let (Some(nonce), false) = (nonce, self.options.jobs.is_empty()) else { return };
        let of = self.nodes[node].life(node);
        let (duties, never) = (Vec::new(), True::MAX);
        let foreman =
            Foreman { of, term, nonce, opening: None, open_again_at: never, duties, claimable_until: never, look: 0 };
        self.jobs.foremen[node] = Some(foreman);
        self.queue.put(self.now, Event::Jobs(JobEvent::Look { of, look: 0 }));
    }

    /// Whether it still fires jobs, and this process with it.
    pub(super) fn foreman_of(&mut self, of: Life) -> Option<&mut Foreman> {
        let is_alive = self.nodes[of.node].life == of.life && self.nodes[of.node].elector.is_some();
        self.jobs.foremen[of.node].as_mut().filter(|foreman| is_alive && foreman.of == of)
    }

    pub(super) fn leads_under(&self, node: usize) -> Option<Term> {
        let process = &self.nodes[node];
        process.leads_at(self.machines[process.machine].clock.at(self.now))
    }

    pub(super) fn look(&mut self, of: Life, look: u64) -> Outcome {
        if self.foreman_of(of).is_none_or(|foreman| foreman.look != look) {
            return Ok(());
        }
        self.look_now(of)
    }

    /// Does what is due, and sees to it that somebody looks again.
    pub(super) fn look_now(&mut self, of: Life) -> Outcome {
        let leads = self.leads_under(of.node);
        if self.foreman_of(of).is_none_or(|foreman| leads != Some(foreman.term)) {
            return Ok(());
        }
        let Some(mut foreman) = self.jobs.foremen[of.node].take() else { return Ok(()) };
        let done = self.attend_all(&mut foreman);
        foreman.look += 1;
        let look = foreman.look;
        self.jobs.foremen[of.node] = Some(foreman);
        let next = done?.min(self.now + LOOK_EVERY).max(self.now + MILLI / 10);
        self.queue.put(next, Event::Jobs(JobEvent::Look { of, look }));
        Ok(())
    }

    fn attend_all(&mut self, foreman: &mut Foreman) -> Result<True, crate::invariants::Violation> {
        foreman.opening.take_if(|opening| self.now >= opening.until);
        let is_time = foreman.duties.is_empty() || self.now >= foreman.open_again_at;
        let is_idle = foreman.duties.iter().all(|duty| duty.claim.is_none());
        if foreman.opening.is_none() && is_time && is_idle {
            // Should it fail, ticks that are due do not wait for it.
            foreman.open_again_at = self.now + OPEN_EVERY;
            self.open_jobs(foreman, true);
        }
        let is_opening = foreman.opening.map_or(is_time, |opening| opening.is_learnt);
        // Whoever has to wait for a claim before it can open the jobs is woken by that.
        let opens_at = if is_time { True::MAX } else { foreman.open_again_at };
        let mut next = foreman.opening.map_or(opens_at, |opening| opening.until);
        for job in 0..foreman.duties.len() {
            next = next.min(self.attend(foreman, job, is_opening)?);
        }
        Ok(next)
    }

    fn open_jobs(&mut self, foreman: &mut Foreman, is_learnt: bool) {
        let from = Tick::at_or_before_ms(self.wall_ms(foreman.of.node));
        let open = |job: &Job| OpenJob {
            job: job.policy.job.clone(),
            schedule: Arc::from(format!("every {}", job.calendar.0)),
            from,
        };
        let jobs = self.options.jobs.iter().map(open).collect();
        let open = Open { key: key(), nonce: foreman.nonce, term: foreman.term, jobs };
        let asked = self.asked(foreman.of.node, false);
        let id = self.ask(foreman.of, JobRequest::Open(open), asked);
        foreman.opening = Some(Opening { id, until: self.now + self.patience_of(foreman.of.node), is_learnt });
    }

    /// Looks after one job; while the jobs are to be opened, nothing new is claimed. Returns when to look again.
    fn attend(
        &mut self,
        foreman: &mut Foreman,
        job: usize,
        is_opening: bool,
    ) -> Result<True, crate::invariants::Violation> {
        let duty = &mut foreman.duties[job];
        if let Some(pending) = duty.claim {
            if self.now < pending.until || self.errs(JobMistake::AsksOnce) {
                return Ok(pending.until.max(self.now + LOOK_EVERY));
            }
            duty.claim = None;
            self.unanswered(foreman, job, pending);
            if self.errs(JobMistake::SilenceGrants) {
                self.claimed(foreman, job, pending, Claimed::Granted)?;
            }
        }
        if is_opening {
            return Ok(self.now + LOOK_EVERY);
        }
        if self.now < foreman.duties[job].not_before {
            return Ok(foreman.duties[job].not_before);
        }
        let node = foreman.of.node;
        let wall_ms = self.wall_ms(node);
        let calendar = self.options.jobs[job].calendar;
        let step = foreman.duties[job].planner.next(&calendar, wall_ms);
        let step = self.mistaken_step(&foreman.duties[job], job, wall_ms).unwrap_or(step);
        let (tick, act, missed, is_late, passed) = match step {
            Step::Wait { until_unix_ms } => {
                return Ok(until_unix_ms.map_or(True::MAX, |until| self.when_wall_shows(node, until)));
            }
            Step::Pass { tick, count, why } => (tick, why.act(), count, false, Some(why)),
            Step::Run { tick, act, missed, late } => (tick, act, missed, late.is_some(), None),
        };
        let asked = Asked { is_late, passed, ..self.asked(node, foreman.duties[job].running > 0) };
        self.claim(foreman, job, (tick, act, missed), asked)
    }

    fn claim(
        &mut self,
        foreman: &mut Foreman,
        job: usize,
        (tick, act, missed): (Tick, Act, u64),
        asked: Asked,
    ) -> Result<True, crate::invariants::Violation> {
        let node = foreman.of.node;
        let claim = Claim {
            key: key(),
            nonce: foreman.nonce,
            term: foreman.term,
            candidate: self.nodes[node].contender.candidate.id.clone(),
            job: self.options.jobs[job].policy.job.clone(),
            tick,
            act,
            missed,
        };
        let id = self.ask(foreman.of, JobRequest::Claim(claim), asked);
        let until = self.now + self.patience_of(node);
        let pending = Pending { id, until, tick, act, asked };
        foreman.duties[job].claim = Some(pending);
        if self.errs(JobMistake::RunsUnclaimed) && act.is_run() {
            self.begin_run(foreman, job, pending)?;
        }
        Ok(until)
    }

    /// An answer is there.
    pub(super) fn hear_of_jobs(&mut self, to: Life, id: u64, reply: &JobReply) -> Outcome {
        if let JobReply::Finished(is_known) = reply {
            self.hear_of_end(id, *is_known);
        }
        if self.foreman_of(to).is_none() {
            return Ok(());
        }
        let Some(mut foreman) = self.jobs.foremen[to.node].take() else { return Ok(()) };
        let done = self.take_answer(&mut foreman, id, reply);
        self.jobs.foremen[to.node] = Some(foreman);
        done?;
        self.look_now(to)
    }

    fn take_answer(&mut self, foreman: &mut Foreman, id: u64, reply: &JobReply) -> Outcome {
        if let Some(opening) = foreman.opening.filter(|opening| opening.id == id) {
            // Whoever was refused tries again when the time of the first attempt is over.
            if let JobReply::Opened(Opened::Jobs(standings)) = reply {
                foreman.opening = None;
                self.opened(foreman, standings, opening.is_learnt);
            }
            return Ok(());
        }
        let any = self.errs(JobMistake::TakesAnyGrant) && matches!(reply, JobReply::Claimed(Claimed::Granted));
        let meant = |duty: &Duty| duty.claim.is_some_and(|pending| pending.id == id || any);
        let Some(job) = foreman.duties.iter().position(meant) else { return Ok(()) };
        let Some(pending) = foreman.duties[job].claim.take() else { return Ok(()) };
        // Given up: it is asked for again, if it is still wanted. Whoever was away must not fire what is late by now.
        if self.now > pending.until {
            self.unanswered(foreman, job, pending);
            return Ok(());
        }
        match reply {
            JobReply::Claimed(claimed) => self.claimed(foreman, job, pending, *claimed),
            // Messages may come twice here: one copy was refused, and another one may have had its effect.
            JobReply::Failed | JobReply::Opened(_) | JobReply::Finished(_) => {
                self.unanswered(foreman, job, pending);
                foreman.duties[job].not_before = self.now + BACK_OFF;
                Ok(())
            }
        }
    }

    /// How the jobs stand. If the store forgot them, their leader did not, and learns nothing.
    fn opened(&mut self, foreman: &mut Foreman, standings: &[JobStanding], is_learnt: bool) {
        if foreman.duties.is_empty() {
            foreman.duties = self.duties(standings);
        } else if is_learnt {
            for (duty, standing) in foreman.duties.iter_mut().zip(standings) {
                duty.planner.learn(standing.clone());
            }
        }
        let wall_ms = self.wall_ms(foreman.of.node);
        let waits = foreman.duties.iter().any(|duty| duty.planner.may_be_given_back(wall_ms));
        let opens_again = waits && !self.errs(JobMistake::NeverOpensAgain);
        foreman.open_again_at = if opens_again { self.now + OPEN_EVERY } else { True::MAX };
    }

    fn duties(&self, standings: &[JobStanding]) -> Vec<Duty> {
        let policies = self.options.jobs.iter().map(|job| self.policy_used(&job.policy));
        let duty = |(policy, standing): (Policy, &JobStanding)| Duty {
            planner: Planner::new(policy, standing.clone()),
            claim: None,
            doubtful: BTreeSet::new(),
            given_back: Vec::new(),
            not_before: 0,
            running: 0,
        };
        policies.zip(standings).map(duty).collect()
    }

    /// What became of a claim.
    fn claimed(&mut self, foreman: &mut Foreman, job: usize, pending: Pending, claimed: Claimed) -> Outcome {
        let duty = &mut foreman.duties[job];
        match claimed {
            Claimed::Early { by } if self.errs(JobMistake::TrustsFastClock) => {
                duty.not_before = self.now + nanos(by);
                return Ok(());
            }
            Claimed::NotHolder => duty.not_before = self.now + BACK_OFF,
            Claimed::Unopened => {
                duty.not_before = self.now + BACK_OFF;
                self.open_jobs(foreman, false);
            }
            Claimed::Granted | Claimed::Decided { .. } | Claimed::Early { .. } | Claimed::Paused => (),
        }
        foreman.duties[job].planner.claimed(pending.tick, pending.act, claimed);
        if matches!(claimed, Claimed::Granted | Claimed::Decided { .. }) {
            self.answered(foreman, job, pending);
        }
        if claimed != Claimed::Granted || !pending.act.is_run() || self.errs(JobMistake::RunsUnclaimed) {
            return Ok(());
        }
        if foreman.duties[job].given_back.contains(&pending.tick) && !self.errs(JobMistake::GivesBackWanted) {
            if self.leads_under(foreman.of.node) != Some(foreman.term) {
                self.count(Situation::GrantTooLate);
            }
            foreman.duties[job].planner.ended();
            self.give_back(foreman, job, pending.tick);
            return Ok(());
        }
        self.begin_run(foreman, job, pending)
    }

    /// The policy that the planner is given: what the job wants, unless a mistake is made.
    fn policy_used(&self, wanted: &Policy) -> Policy {
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
    fn mistaken_step(&self, duty: &Duty, job: usize, wall_ms: u64) -> Option<Step> {
        let Job { policy, calendar, .. } = &self.options.jobs[job];
        if !self.errs(JobMistake::SkipsInsteadOfAll) || policy.missed != Missed::All || policy.overlap != Overlap::Skip
        {
            return None;
        }
        let tick = calendar.next_after(duty.planner.mark()).filter(|tick| policy.due_ms(*tick) <= wall_ms)?;
        let is_new = tick.age_at(wall_ms) <= policy.jitter + policy.late_max;
        let leaves_out = policy.enabled && duty.running > 0 && is_new;
        leaves_out.then_some(Step::Pass { tick, count: 1, why: Passed::Overlap })
    }

    /// The circumstances in which it asks.
    pub(super) fn asked(&self, node: usize, is_running: bool) -> Asked {
        let (wall_ms, store_ms) = (self.wall_ms(node), self.store_wall_ms());
        Asked { at: self.now, wall_ms, store_ms, is_running, is_late: false, passed: None }
    }

    /// How long it waits for an answer.
    pub(super) fn patience_of(&self, node: usize) -> u64 {
        nanos(self.nodes[node].contender.candidate.timing.attempt_timeout())
    }
}
