//! Requests about jobs, and what becomes of them on the way: the same as of all others.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::jobs::{Act, Claimed, Passed, Tick};

use super::{JobRequestContext, ServedJobRequest, SimJobEvent};
use crate::clock::SimTime;
use crate::fault::FaultClass;
use crate::invariants::Occurrence;
use crate::store::{JobReply, JobRequest};
use crate::tally::Situation;
use crate::world::queue::{Incarnation, SimEvent};
use crate::world::{SimOutcome, SimWorld};

impl SimWorld {
    /// A request leaves, if it can. Returns its number.
    pub(super) fn ask(&mut self, from: Incarnation, request: JobRequest, asked: JobRequestContext) -> u64 {
        let id = self.jobs.number();
        self.say(|world| format!("{} {} (job request {id})", world.name(from.node), said(&request)));
        let link = &self.nodes[from.node].link;
        let cut = self.now < link.requests_cut_until;
        let down = self.now < self.store_down_until;
        let request = Arc::new(request);
        if (cut && link.refuses) || (down && self.store_refuses) {
            self.answer_jobs(from, id, &JobReply::Failed);
        } else if cut || down || self.by_chance_of_jobs(|world| world.is_hit(FaultClass::Loss)) {
            self.disturb_jobs();
        } else {
            let slow_by = if self.now < self.store_slow_until { self.store_slow_by } else { 0 };
            for _ in 0..self.by_chance_of_jobs(Self::copies) {
                let takes = self.by_chance_of_jobs(|world| world.rng.up_to(slow_by) + world.latency());
                let at = self.arrival(takes);
                let request = Arc::clone(&request);
                self.queue.put(at, SimEvent::Jobs(SimJobEvent::AtStore { from, id, request, asked }));
            }
        }
        id
    }

    /// The store takes its step, and answers.
    pub(super) fn serve_jobs(
        &mut self,
        from: Incarnation,
        id: u64,
        request: &JobRequest,
        asked: JobRequestContext,
    ) -> SimOutcome {
        if self.by_chance_of_jobs(|world| world.is_hit(FaultClass::StoreErrors)) {
            self.answer_jobs(from, id, &JobReply::Failed);
            return Ok(());
        }
        let store_ms = self.store_wall_ms();
        let at_old_primary = self.now < self.nodes[from.node].link.at_old_primary_until;
        let before = self.marks(at_old_primary);
        let fired_before = self.fired(at_old_primary);
        let was_given_back =
            request.claimed().is_some_and(|(job, tick)| self.store.has_back(job, tick, at_old_primary));
        let reply = self.with_caller(from, Duration::ZERO, |store, caller| store.serve_jobs(caller, request, store_ms));
        let after = self.marks(at_old_primary);
        self.say(|_| format!("the store answers {} (job request {id})", told(&reply)));
        self.count_served(request, &reply, asked, before != after);
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
        self.answer_jobs(from, id, &reply);
        Ok(())
    }

    fn count_served(&mut self, request: &JobRequest, reply: &JobReply, asked: JobRequestContext, is_new: bool) {
        let act = match request {
            JobRequest::Claim(claim) => Some(claim.act),
            JobRequest::Open(_) | JobRequest::Finish(_) => None,
        };
        let situation = match (reply, act, asked.passed) {
            (JobReply::Claimed(Claimed::Early { .. }), ..) => Situation::EarlyClaim,
            (JobReply::Claimed(Claimed::NotHolder), ..) => Situation::ClaimOfOther,
            (JobReply::Claimed(Claimed::Granted), Some(Act::Run), _) if !is_new => Situation::ClaimFoundAgain,
            (JobReply::Claimed(Claimed::Granted), _, Some(Passed::Missed)) => Situation::PassedMissed,
            (JobReply::Claimed(Claimed::Granted), _, Some(Passed::Overlap)) => Situation::PassedOverlap,
            (JobReply::Finished(false), ..) if !request.gives_back() => Situation::EndTooLate,
            _ => return,
        };
        self.count(situation);
    }

    fn marks(&self, at_old_primary: bool) -> Vec<Option<Tick>> {
        self.options.jobs.iter().map(|job| self.store.mark(&job.policy.job, at_old_primary)).collect()
    }

    fn fired(&self, at_old_primary: bool) -> Vec<u64> {
        self.options.jobs.iter().map(|job| self.store.fired(&job.policy.job, at_old_primary)).collect()
    }

    /// An answer leaves, if it can.
    fn answer_jobs(&mut self, to: Incarnation, id: u64, reply: &JobReply) {
        if matches!(reply, JobReply::Failed) {
            self.disturb_jobs();
        }
        let cut = self.now < self.nodes[to.node].link.answers_cut_until;
        if cut || self.by_chance_of_jobs(|world| world.is_hit(FaultClass::Loss)) {
            return self.disturb_jobs();
        }
        for _ in 0..self.by_chance_of_jobs(Self::copies) {
            let takes = self.by_chance_of_jobs(|world| world.latency() + world.slowness(to.node));
            let at = self.arrival(takes);
            self.queue.put(at, SimEvent::Jobs(SimJobEvent::Heard { to, id, reply: reply.clone() }));
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
        JobRequest::Open(open) => format!("opens its jobs under term {}", open.term),
        JobRequest::Claim(claim) => format!("claims {} of {}, {:?}", claim.tick, claim.job, claim.act),
        JobRequest::Finish(finish) if request.gives_back() => format!("gives {} of {} back", finish.tick, finish.job),
        JobRequest::Finish(finish) => format!("tells the end of {} of {}", finish.tick, finish.job),
    }
}

fn told(reply: &JobReply) -> String {
    match reply {
        JobReply::Opened(opened) => format!("{opened:?}"),
        JobReply::Claimed(claimed) => format!("{claimed:?}"),
        JobReply::Finished(is_known) => format!("written down: {is_known}"),
        JobReply::Failed => "nothing".to_owned(),
    }
}
