//! Giving back: whoever has claimed a tick, or may have, and has not begun it, says so.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::Term;
use tenure_core::jobs::{Finish, RunOutcome, Tick};

use super::scheduler::{PendingClaim, SimScheduler};
use crate::mistake::JobMistake;
use crate::store::key;
use crate::world::SimWorld;
use crate::world::view::nanos;

/// For how many ttls after its leadership a claim may reach the store and be granted: no message is on its way for longer.
const CLAIMABLE_TTLS: u64 = 3;

impl SimWorld {
    /// There was no answer to a claim in time. It may have had its effect all the same.
    pub(super) fn unanswered(&mut self, scheduler: &mut SimScheduler, job: usize, pending: PendingClaim) {
        if pending.act.is_run() {
            scheduler.scheduled_jobs[job].doubtful.insert(pending.tick);
        }
    }

    /// A claim was decided. What was doubtful before it is that very tick, or is not claimed any more, or is yet to come: then
    /// it is claimed again, and must not be given back meanwhile.
    pub(super) fn answered(&mut self, scheduler: &mut SimScheduler, job: usize, pending: PendingClaim) {
        let may_be_wanted = !self.errs(JobMistake::GivesBackWanted);
        let scheduled = &mut scheduler.scheduled_jobs[job];
        if pending.act.is_run() {
            scheduled.doubtful.remove(&pending.tick);
        }
        let mark = scheduled.planner.mark();
        let (later, done) =
            std::mem::take(&mut scheduled.doubtful).into_iter().partition(|tick| may_be_wanted && *tick > mark);
        scheduled.doubtful = later;
        let done: BTreeSet<Tick> = done;
        for tick in done {
            self.give_back(scheduler, job, tick);
        }
    }

    /// Leadership is over, and nothing more begins under it.
    pub(in crate::world) fn end_jobs(&mut self, node: usize, term: Term) {
        if self.errs(JobMistake::RunsAfterLoss) {
            return;
        }
        let Some(mut scheduler) = self.jobs.foremen[node].take_if(|scheduler| scheduler.term == term) else { return };
        // The store may take the lease for this leader's for one more ttl, and longer if a renewal is on its way. Until then
        // it grants what it was asked.
        scheduler.claimable_until = self.now + CLAIMABLE_TTLS * nanos(self.options.ttl_max());
        for end in self.jobs.ends.iter_mut().filter(|end| end.finish.nonce == scheduler.nonce) {
            end.claimable_until = end.claimable_until.min(scheduler.claimable_until);
        }
        for job in 0..scheduler.scheduled_jobs.len() {
            let scheduled = &mut scheduler.scheduled_jobs[job];
            let mut doubtful = std::mem::take(&mut scheduled.doubtful);
            doubtful.extend(scheduled.claim.filter(|pending| pending.act.is_run()).map(|pending| pending.tick));
            for tick in doubtful {
                self.give_back(&mut scheduler, job, tick);
            }
        }
        self.jobs.foremen[node] = Some(scheduler);
    }

    /// A tick that may have been claimed, and is not begun.
    pub(super) fn give_back(&mut self, scheduler: &mut SimScheduler, job: usize, tick: Tick) {
        scheduler.scheduled_jobs[job].given_back.push(tick);
        let finish = Finish {
            key: key(),
            nonce: scheduler.nonce,
            term: scheduler.term,
            job: self.options.jobs[job].policy.job.clone(),
            tick,
            took: Duration::ZERO,
            retries: 0,
            outcome: RunOutcome::NotBegun,
        };
        let until = if self.errs(JobMistake::GivesBackOnce) { 0 } else { scheduler.claimable_until };
        self.tell_end_of(scheduler.of, finish, u32::MAX, until);
    }
}
