//! Giving back: whoever has claimed a tick, or may have, and has not begun it, says so.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::Term;
use tenure_core::cron::{Finish, Outcome as RunOutcome, Tick};

use super::foreman::{Foreman, Pending};
use crate::mistake::JobMistake;
use crate::store::key;
use crate::world::World;
use crate::world::view::nanos;

/// For how many ttls after its leadership a claim may reach the store and be granted: no message is on its way for longer.
const CLAIMABLE_TTLS: u64 = 3;

impl World {
    /// There was no answer to a claim in time. It may have had its effect all the same.
    pub(super) fn unanswered(&mut self, foreman: &mut Foreman, job: usize, pending: Pending) {
        if pending.act.is_run() {
            foreman.duties[job].doubtful.insert(pending.tick);
        }
    }

    /// A claim was decided. What was doubtful before it is that very tick, or is not claimed any more, or is yet to come: then
    /// it is claimed again, and must not be given back meanwhile.
    pub(super) fn answered(&mut self, foreman: &mut Foreman, job: usize, pending: Pending) {
        let may_be_wanted = !self.errs(JobMistake::GivesBackWanted);
        let duty = &mut foreman.duties[job];
        if pending.act.is_run() {
            duty.doubtful.remove(&pending.tick);
        }
        let mark = duty.planner.mark();
        let (later, done) =
            std::mem::take(&mut duty.doubtful).into_iter().partition(|tick| may_be_wanted && *tick > mark);
        duty.doubtful = later;
        let done: BTreeSet<Tick> = done;
        for tick in done {
            self.give_back(foreman, job, tick);
        }
    }

    /// Leadership is over, and nothing more begins under it.
    pub(in crate::world) fn end_jobs(&mut self, node: usize, term: Term) {
        if self.errs(JobMistake::RunsAfterLoss) {
            return;
        }
        let Some(mut foreman) = self.jobs.foremen[node].take_if(|foreman| foreman.term == term) else { return };
        // The store may take the lease for this leader's for one more ttl, and longer if a renewal is on its way. Until then
        // it grants what it was asked.
        foreman.claimable_until = self.now + CLAIMABLE_TTLS * nanos(self.options.ttl_max());
        for end in self.jobs.ends.iter_mut().filter(|end| end.finish.nonce == foreman.nonce) {
            end.claimable_until = end.claimable_until.min(foreman.claimable_until);
        }
        for job in 0..foreman.duties.len() {
            let duty = &mut foreman.duties[job];
            let mut doubtful = std::mem::take(&mut duty.doubtful);
            doubtful.extend(duty.claim.filter(|pending| pending.act.is_run()).map(|pending| pending.tick));
            for tick in doubtful {
                self.give_back(&mut foreman, job, tick);
            }
        }
        self.jobs.foremen[node] = Some(foreman);
    }

    /// A tick that may have been claimed, and is not begun.
    pub(super) fn give_back(&mut self, foreman: &mut Foreman, job: usize, tick: Tick) {
        foreman.duties[job].given_back.push(tick);
        let finish = Finish {
            key: key(),
            nonce: foreman.nonce,
            term: foreman.term,
            job: self.options.jobs[job].policy.job.clone(),
            tick,
            took: Duration::ZERO,
            retries: 0,
            outcome: RunOutcome::NotBegun,
        };
        let until = if self.errs(JobMistake::GivesBackOnce) { 0 } else { foreman.claimable_until };
        self.tell_end_of(foreman.of, finish, u32::MAX, until);
    }
}
