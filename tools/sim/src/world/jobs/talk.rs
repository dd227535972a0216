//! Requests about jobs, and what becomes of them on the way: the same as of all others.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::WriteOutcome;
use tenure_core::jobs::{Act, CallId, Claimed, JobInput, LedgerReply, OpenJob, Opened, Tick, present_schedule};

use super::{JobRequestContext, ServedJobRequest, SimJobEvent};
use crate::clock::SimTime;
use crate::fault::FaultClass;
use crate::invariants::{InvariantViolation, Occurrence};
use crate::mistake::JobMistake;
use crate::store::{JobReply, JobRequest};
use crate::tally::Situation;
use crate::world::queue::{Incarnation, SimEvent};
use crate::world::{SimOutcome, SimWorld};

impl SimWorld {
    /// A call leaves, if it can.
    pub(super) fn ask(
        &mut self,
        from: Incarnation,
        call: CallId,
        requests: &Arc<[JobRequest]>,
        asked: &Arc<[JobRequestContext]>,
    ) {
        let number = self.jobs.numbers(requests.len());
        for (request, id) in requests.iter().zip(number..) {
            self.say(|world| format!("{} {} (job request {id})", world.name(from.node), said(request)));
        }
        let link = &self.nodes[from.node].link;
        let cut = self.now < link.requests_cut_until;
        let down = self.now < self.store_down_until;
        if (cut && link.refuses) || (down && self.store_refuses) {
            self.answer_jobs(from, call, requests, vec![JobReply::Failed(WriteOutcome::NotSent); requests.len()]);
        } else if cut || down || self.by_chance_of_jobs(|world| world.is_hit(FaultClass::Loss)) {
            self.disturb_jobs();
        } else {
            let slow_by = if self.now < self.store_slow_until { self.store_slow_by } else { 0 };
            for _ in 0..self.by_chance_of_jobs(Self::copies) {
                let takes = self.by_chance_of_jobs(|world| world.rng.up_to(slow_by) + world.latency());
                let at = self.arrival(takes);
                let (requests, asked) = (Arc::clone(requests), Arc::clone(asked));
                self.queue.put(at, SimEvent::Jobs(SimJobEvent::AtStore { from, call, number, requests, asked }));
            }
        }
    }

    /// The store takes one step for each request, and answers.
    pub(super) fn serve_jobs(
        &mut self,
        from: Incarnation,
        call: CallId,
        number: u64,
        requests: &Arc<[JobRequest]>,
        asked: &[JobRequestContext],
    ) -> SimOutcome {
        if self.by_chance_of_jobs(|world| world.is_hit(FaultClass::StoreErrors)) {
            // Messages may come twice here: one copy fails, and another one may have its effect.
            self.answer_jobs(from, call, requests, vec![JobReply::Failed(WriteOutcome::Unknown); requests.len()]);
            return Ok(());
        }
        let mut replies = Vec::new();
        for ((request, asked), id) in requests.iter().zip(asked).zip(number..) {
            replies.push(self.serve_job_request(from, id, request, *asked)?);
        }
        self.answer_jobs(from, call, requests, replies);
        Ok(())
    }

    fn serve_job_request(
        &mut self,
        from: Incarnation,
        id: u64,
        request: &JobRequest,
        asked: JobRequestContext,
    ) -> Result<JobReply, InvariantViolation> {
        let store_ms = self.store_wall_ms();
        let at_old_primary = self.now < self.nodes[from.node].link.at_old_primary_until;
        let before = self.marks(at_old_primary);
        let fired_before = self.fired(at_old_primary);
        let was_given_back =
            request.claimed().is_some_and(|(job, tick)| self.store.has_back(job, tick, at_old_primary));
        let reply = self.with_caller(from, Duration::ZERO, |store, caller| store.serve_jobs(caller, request, store_ms));
        let after = self.marks(at_old_primary);
        self.say(|_| format!("the store answers {} (job request {id})", told(&reply)));
        self.count_served(request, &reply, before != after);
        let fired = self.fired(at_old_primary);
        if fired.iter().zip(&fired_before).any(|(after, before)| after < before) {
            self.count(Situation::GivenBack);
        }
        if was_given_back && fired != fired_before {
            self.count(Situation::GivenBackTaken);
        }
        let served = ServedJobRequest {
            from,
            id,
            request,
            reply: &reply,
            asked,
            before: &before,
            after: &after,
            fired: &fired,
            store_ms,
        };
        self.see(&Occurrence::Served(&served))?;
        Ok(reply)
    }

    fn count_served(&mut self, request: &JobRequest, reply: &JobReply, is_new: bool) {
        let act = match request {
            JobRequest::Claim(claim) => Some(claim.act),
            JobRequest::List | JobRequest::Open(_) | JobRequest::Finish(_) => None,
        };
        if let (JobRequest::Open(open), JobReply::Opened(Opened::Jobs(_))) = (request, reply)
            && open.jobs.iter().any(|job| present_schedule(&job.schedule).is_some())
        {
            self.count(Situation::MarkedAbsent);
        }
        let situation = match (reply, act) {
            (JobReply::Claimed(Claimed::Early { .. }), _) => Situation::EarlyClaim,
            (JobReply::Claimed(Claimed::NotHolder), _) => Situation::ClaimOfOther,
            (JobReply::Claimed(Claimed::Granted), Some(Act::Run)) if !is_new => Situation::ClaimFoundAgain,
            (JobReply::Claimed(Claimed::Granted), Some(Act::Pass)) => Situation::PassedMissed,
            (JobReply::Claimed(Claimed::Granted), Some(Act::Skip)) if self.is_enabled(request) => {
                Situation::PassedOverlap
            }
            (JobReply::Finished(false), _) if !request.gives_back() => Situation::EndTooLate,
            _ => return,
        };
        self.count(situation);
    }

    fn is_enabled(&self, request: &JobRequest) -> bool {
        let claimed = request.claimed().map(|(job, _)| job);
        self.options.jobs.iter().any(|job| Some(&job.policy.job) == claimed && job.policy.enabled)
    }

    fn marks(&self, at_old_primary: bool) -> Vec<Option<Tick>> {
        self.options.jobs.iter().map(|job| self.store.mark(&job.policy.job, at_old_primary)).collect()
    }

    fn fired(&self, at_old_primary: bool) -> Vec<u64> {
        self.options.jobs.iter().map(|job| self.store.fired(&job.policy.job, at_old_primary)).collect()
    }

    /// An answer leaves, if it can.
    fn answer_jobs(&mut self, to: Incarnation, call: CallId, requests: &Arc<[JobRequest]>, replies: Vec<JobReply>) {
        if replies.iter().any(|reply| matches!(reply, JobReply::Failed(_))) {
            self.disturb_jobs();
        }
        let cut = self.now < self.nodes[to.node].link.answers_cut_until;
        if cut || self.by_chance_of_jobs(|world| world.is_hit(FaultClass::Loss)) {
            return self.disturb_jobs();
        }
        let replies: Arc<[JobReply]> = Arc::from(replies);
        for _ in 0..self.by_chance_of_jobs(Self::copies) {
            let takes = self.by_chance_of_jobs(|world| world.latency() + world.slowness(to.node));
            let at = self.arrival(takes);
            let (requests, replies) = (Arc::clone(requests), Arc::clone(&replies));
            self.queue.put(at, SimEvent::Jobs(SimJobEvent::Heard { to, call, requests, replies }));
        }
    }

    /// An answer is there.
    pub(super) fn hear_of_jobs(
        &mut self,
        to: Incarnation,
        call: CallId,
        requests: &[JobRequest],
        replies: &[JobReply],
    ) -> SimOutcome {
        if self.engine_of(to).is_none() {
            return Ok(());
        }
        let is_run = |(request, reply): (&JobRequest, &JobReply)| {
            let is_run = matches!(request, JobRequest::Claim(claim) if claim.act.is_run());
            is_run && matches!(reply, JobReply::Claimed(Claimed::Granted))
        };
        if requests.iter().zip(replies).any(is_run) && self.leads_under(to.node).is_none() {
            self.count(Situation::GrantTooLate);
        }
        let reply = self.heard(&requests[0], replies);
        self.feed_jobs(to.node, JobInput::Reply { call, reply })
    }

    /// The same, as an engine hears it.
    fn heard(&self, first: &JobRequest, replies: &[JobReply]) -> LedgerReply {
        let unheeded = self.errs(JobMistake::TrustsFastClock);
        let listed = |reply: &JobReply| match reply {
            JobReply::Listed(listed) => Ok(listed.clone()),
            JobReply::Failed(outcome) => Err(*outcome),
            JobReply::Opened(_) | JobReply::Claimed(_) | JobReply::Finished(_) => Err(WriteOutcome::Unknown),
        };
        let opened = |reply: &JobReply| match reply {
            JobReply::Opened(opened) => Ok(opened.clone()),
            JobReply::Failed(outcome) => Err(*outcome),
            JobReply::Listed(_) | JobReply::Claimed(_) | JobReply::Finished(_) => Err(WriteOutcome::Unknown),
        };
        let claimed = |reply: &JobReply| match reply {
            JobReply::Claimed(Claimed::Early { .. }) if unheeded => Err(WriteOutcome::Refused),
            JobReply::Claimed(claimed) => Ok(*claimed),
            JobReply::Failed(outcome) => Err(*outcome),
            JobReply::Listed(_) | JobReply::Opened(_) | JobReply::Finished(_) => Err(WriteOutcome::Unknown),
        };
        let finished = |reply: &JobReply| match reply {
            JobReply::Finished(is_known) => Ok(*is_known),
            JobReply::Failed(outcome) => Err(*outcome),
            JobReply::Listed(_) | JobReply::Opened(_) | JobReply::Claimed(_) => Err(WriteOutcome::Unknown),
        };
        match first {
            JobRequest::List => LedgerReply::Listed(listed(&replies[0])),
            JobRequest::Open(_) => LedgerReply::Opened(opened(&replies[0])),
            JobRequest::Claim(_) => LedgerReply::Claimed(replies.iter().map(claimed).collect()),
            JobRequest::Finish(_) => LedgerReply::Finished(replies.iter().map(finished).collect()),
        }
    }

    /// What takes longer than usual disturbs.
    fn arrival(&mut self, takes: u64) -> SimTime {
        if takes > self.options.latency {
            self.disturb_jobs();
        }
        self.now + takes
    }

    pub(super) fn disturb_jobs(&mut self) {
        self.jobs.disturbed_at = self.now;
    }

    /// The same chance as elsewhere, out of a stream of its own.
    pub(super) fn by_chance_of_jobs<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.rng, &mut self.jobs.rng);
        let drawn = draw(self);
        std::mem::swap(&mut self.rng, &mut self.jobs.rng);
        drawn
    }
}

fn said(request: &JobRequest) -> String {
    match request {
        JobRequest::List => "asks which jobs are known".to_owned(),
        JobRequest::Open(open) => {
            let said = |job: &OpenJob| format!("{} {}", job.job, job.schedule);
            format!("opens {:?} under term {}", open.jobs.iter().map(said).collect::<Vec<_>>(), open.term)
        }
        JobRequest::Claim(claim) => format!("claims {} of {}, {:?}", claim.tick, claim.job, claim.act),
        JobRequest::Finish(finish) if request.gives_back() => format!("gives {} of {} back", finish.tick, finish.job),
        JobRequest::Finish(finish) => format!("tells the end of {} of {}", finish.tick, finish.job),
    }
}

fn told(reply: &JobReply) -> String {
    match reply {
        JobReply::Listed(listed) => format!("that it knows {} jobs", listed.len()),
        JobReply::Opened(opened) => format!("{opened:?}"),
        JobReply::Claimed(claimed) => format!("{claimed:?}"),
        JobReply::Finished(is_known) => format!("written down: {is_known}"),
        JobReply::Failed(_) => "nothing".to_owned(),
    }
}
