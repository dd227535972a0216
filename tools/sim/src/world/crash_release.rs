//! What watches a process and outlives it: once nothing of the dead one's work is left, it releases the lease.
//!
//! It is a guard, or a helper. It knows what its process was last granted, and nothing else.

use tenure_core::{LossReason, Nonce, Request, RequestId, Term, Verb};

use super::queue::{Incarnation, SimEvent};
use super::view::nanos;
use super::{SimOutcome, SimWorld};
use crate::fault::FaultClass;
use crate::invariants::Occurrence;
use crate::mistake::{Mistake, ProcessMistake};
use crate::tally::Situation;

/// A lease that its process has left behind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OrphanedLease {
    pub(crate) of: Incarnation,
    pub(crate) nonce: Nonce,
    pub(crate) term: Term,
}

impl SimWorld {
    /// A process has died. What watches it may have died with it.
    pub(super) fn leave_to_guard(&mut self, node: usize) -> SimOutcome {
        let Some((nonce, term)) = self.nodes[node].held.take() else { return Ok(()) };
        if !self.options.has(FaultClass::GuardRelease) || !self.chance_of(FaultClass::GuardRelease).percent(75) {
            return Ok(());
        }
        let of = self.nodes[node].life(node);
        self.nodes[node].orphaned = Some(OrphanedLease { of, nonce, term });
        let works = self.nodes[node].work.as_ref().is_some_and(|work| work.of == of);
        if !works || Mistake::is_process(self.options.mistake, ProcessMistake::ReleasesBeforeDeath) {
            self.release_orphaned(of);
        }
        Ok(())
    }

    /// Nothing is left of this process. Whoever has seen that may take any time to say so.
    pub(super) fn release_orphaned(&mut self, of: Incarnation) {
        let Some(lease) = self.nodes[of.node].orphaned.take_if(|lease| lease.of == of) else { return };
        let late = !self.healed && self.chance_of(FaultClass::GuardRelease).percent(40);
        let longest = if late { 3 * nanos(self.options.max_ttl()) } else { self.options.latency };
        let at = self.now + self.chance_of(FaultClass::GuardRelease).up_to(longest);
        self.queue.put(at, SimEvent::CrashRelease(lease));
    }

    /// The resignation in the place of the dead leaves, and may take its time, too.
    pub(super) fn send_crash_release(&mut self, lease: OrphanedLease) -> SimOutcome {
        let OrphanedLease { of, mut nonce, mut term } = lease;
        let machine = &self.machines[self.nodes[of.node].machine];
        if self.now < machine.suspended_until {
            self.queue.put(machine.suspended_until, SimEvent::CrashRelease(lease));
            return Ok(());
        }
        if Mistake::is_process(self.options.mistake, ProcessMistake::ReleasesNewerTerm)
            && let Some(newest) = self.store.granted()
        {
            (nonce, term) = newest;
        }
        let verb = Verb::Resign { nonce, term: Some(term), successor: None, reason: LossReason::Crashed };
        let request = Request { id: RequestId(u64::MAX), verb };
        self.count(Situation::CrashRelease);
        self.say(|world| format!("what outlived {} releases term {term}", world.name(of.node)));
        self.see(&Occurrence::ReleasedInPlaceOf { node: of.node, life: of.life, term })?;
        let link = &self.nodes[of.node].link;
        if self.now < link.requests_cut_until.max(self.store_down_until) || self.is_hit(FaultClass::Loss) {
            return Ok(());
        }
        for _ in 0..self.copies() {
            let late = !self.healed && self.chance_of(FaultClass::GuardRelease).percent(30);
            let longest = if late { 5 * nanos(self.options.max_ttl()) } else { 1 };
            let at = self.now + self.latency() + self.chance_of(FaultClass::GuardRelease).up_to(longest);
            self.queue.put(at, SimEvent::AtStore { from: of, request: request.clone(), sent: self.now });
        }
        Ok(())
    }
}
