//! Whoever leads: opens the jobs, looks what is due, claims it, and hears what became of it.

use std::sync::Arc;

use tenure_core::cron::{
    Act, Claim, Claimed, Interrupted, JobStanding, Missed, Open, OpenJob, Opened, Overlap, Planner, Policy, Step, Tick,
};
use tenure_core::{Nonce, Term};

use super::{Asked, JobEvent};
use crate::clock::{MILLI, True};
use crate::mistake::{JobMistake, Mistake};
use crate::store::{JobReply, JobRequest, key};
use crate::world::queue::{Event, Life};
use crate::world::view::nanos;
use crate::world::{Outcome, World};

/// One leadership that fires jobs.
pub(super) struct Foreman {
    pub(super) of: Life,
    pub(super) term: Term,
    pub(super) nonce: Nonce,
    /// The request that opens the jobs, and when it is given up.
    opening: Option<(u64, True)>,
    /// By job; empty until they are open.
    pub(super) duties: Vec<Duty>,
    /// The number of the look that counts.
    look: u64,
}

/// One job under one leadership.
pub(super) struct Duty {
    pub(super) planner: Planner,
    claim: Option<Pending>,
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

impl World {
    pub(super) fn errs(&self, mistake: JobMistake) -> bool {
        self.options.mistake == Some(Mistake::Job(mistake))
    }

    /// Leadership begins, and jobs with it.
    pub(in crate::world) fn begin_jobs(&mut self, node: usize, term: Term) {
        let nonce = self.nodes[node].elector.as_ref().and_then(tenure_core::Elector::nonce);
        let (Some(nonce), false) = (nonce, self.options.jobs.is_empty()) else { return };
        let of = self.nodes[node].life(node);
        self.jobs.foremen[node] = Some(Foreman { of, term, nonce, opening: None, duties: Vec::new(), look: 0 });
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
        foreman.opening.take_if(|(_, until)| self.now >= *until);
        if foreman.duties.is_empty() && foreman.opening.is_none() {
            self.open_jobs(foreman);
        }
        let mut next = foreman.opening.map_or(True::MAX, |(_, until)| until);
        for job in 0..foreman.duties.len() {
            next = next.min(self.attend(foreman, job)?);
        }
        Ok(next)
    }

    fn open_jobs(&mut self, foreman: &mut Foreman) {
        let from = Tick::at_or_before_ms(self.wall_ms(foreman.of.node));
        let open = |job: &crate::job::Job| OpenJob {
            job: job.policy.job.clone(),
            schedule: Arc::from(format!("every {}", job.calendar.0)),
            from,
        };
        let jobs = self.options.jobs.iter().map(open).collect();
        let open = Open { key: key(), nonce: foreman.nonce, term: foreman.term, jobs };
        let asked = self.asked(foreman.of.node, false);
        let id = self.ask(foreman.of, JobRequest::Open(open), asked);
        foreman.opening = Some((id, self.now + self.patience_of(foreman.of.node)));
    }

    /// Looks after one job. Returns when to look again.
    fn attend(&mut self, foreman: &mut Foreman, job: usize) -> Result<True, crate::invariants::Violation> {
        let duty = &mut foreman.duties[job];
        if let Some(pending) = duty.claim {
            if self.now < pending.until || self.errs(JobMistake::AsksOnce) {
                return Ok(pending.until.max(self.now + LOOK_EVERY));
            }
            duty.claim = None;
            if self.errs(JobMistake::SilenceGrants) {
                self.claimed(foreman, job, pending, Claimed::Granted)?;
            }
        }
        if self.now < foreman.duties[job].not_before {
            return Ok(foreman.duties[job].not_before);
        }
        let node = foreman.of.node;
        let wall_ms = self.wall_ms(node);
        let calendar = self.options.jobs[job].calendar;
        let step = foreman.duties[job].planner.next(&calendar, wall_ms);
        let (tick, act, missed, is_late, passed) = match step {
            Step::Wait { until_unix_ms } => {
                return Ok(until_unix_ms.map_or(True::MAX, |until| self.when_wall_shows(node, until)));
            }
            Step::Pass { tick, count, why } => (tick, Act::Pass, count, false, Some(why)),
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
        if self.errs(JobMistake::RunsUnclaimed) && act != Act::Pass {
            self.begin_run(foreman, job, pending)?;
        }
        Ok(until)
    }

    /// An answer is there.
    pub(super) fn hear_of_jobs(&mut self, to: Life, id: u64, reply: &JobReply) -> Outcome {
        if matches!(reply, JobReply::Finished(_)) {
            self.jobs.ends.retain(|end| end.id != id);
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
        if foreman.opening.is_some_and(|(opening, _)| opening == id) {
            // Whoever was refused tries again when the time of the first attempt is over.
            if let JobReply::Opened(Opened::Jobs(standings)) = reply {
                foreman.opening = None;
                self.opened(foreman, standings);
            }
            return Ok(());
        }
        let any = self.errs(JobMistake::TakesAnyGrant) && matches!(reply, JobReply::Claimed(Claimed::Granted));
        let meant = |duty: &Duty| duty.claim.is_some_and(|pending| pending.id == id || any);
        let Some(job) = foreman.duties.iter().position(meant) else { return Ok(()) };
        let Some(pending) = foreman.duties[job].claim.take() else { return Ok(()) };
        // Given up: it is asked for again, if it is still wanted. Whoever was away must not fire what is late by now.
        if self.now > pending.until {
            return Ok(());
        }
        match reply {
            JobReply::Claimed(claimed) => self.claimed(foreman, job, pending, *claimed),
            JobReply::Failed | JobReply::Opened(_) | JobReply::Finished(_) => {
                foreman.duties[job].not_before = self.now + BACK_OFF;
                Ok(())
            }
        }
    }

    /// Jobs that were open before stay as they are: the store forgot them, their leader did not.
    fn opened(&mut self, foreman: &mut Foreman, standings: &[JobStanding]) {
        if !foreman.duties.is_empty() {
            return;
        }
        let policies = self.options.jobs.iter().map(|job| self.policy_used(&job.policy));
        let duty = |(policy, standing): (Policy, &JobStanding)| Duty {
            planner: Planner::new(policy, standing.clone()),
            claim: None,
            not_before: 0,
            running: 0,
        };
        foreman.duties = policies.zip(standings).map(duty).collect();
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
                self.open_jobs(foreman);
            }
            Claimed::Granted | Claimed::Decided { .. } | Claimed::Early { .. } => (),
        }
        foreman.duties[job].planner.claimed(pending.tick, pending.act, claimed);
        if claimed == Claimed::Granted && pending.act != Act::Pass && !self.errs(JobMistake::RunsUnclaimed) {
            self.begin_run(foreman, job, pending)?;
        }
        Ok(())
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
