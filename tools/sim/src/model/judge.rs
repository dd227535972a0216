//! Judging what came of a step.

use tenure_core::store_rules::record::Record;
use tenure_core::{Instant, Request, Term, Verb};

use super::laws::Law;
use super::state::ModelNode;
use super::step::ModelStep;

impl ModelStep<'_> {
    pub(super) fn require(&mut self, holds: bool, law: Law) {
        if !holds {
            self.state.signs.breaks(law);
        }
    }

    /// Of an elector that was called just now.
    pub(super) fn judge_called(&mut self, node: &ModelNode, now: Instant) {
        let in_time = node.elector.leads_under().is_none_or(|(_, trust)| now < trust.stop_at);
        self.require(in_time, Law::StopsInTime);
    }

    /// Of a store that served a request, and whose record is this now.
    pub(super) fn judge_lease(&mut self, after: &Record, request: &Request) {
        let now = self.world.store_clock.at(self.state.now);
        let Some(before) = self.state.record.lease.as_ref().filter(|lease| now < lease.expires_at) else { return };
        let is_release = matches!(request.verb, Verb::Resign { nonce, .. } if nonce == before.nonce);
        let is_kept = after.lease.as_ref().is_some_and(|lease| {
            lease.nonce == before.nonce
                && lease.leader.term == before.leader.term
                && lease.expires_at >= before.expires_at
        });
        self.require(is_kept || is_release, Law::LeaseIsKept);
    }

    /// No time may pass while the work of two candidates runs, or while some runs under an old term.
    pub(super) fn judge_work(&mut self) {
        let nodes = &self.state.nodes;
        let acting = |index: &usize| nodes[*index].acts(self.clock(*index));
        let terms: Vec<Option<Term>> =
            (0..nodes.len()).filter(acting).map(|index| nodes[index].work.map(|work| work.term)).collect();
        let newest = self.state.record.last_term;
        self.require(terms.len() < 2, Law::OneWorks);
        self.require(terms.iter().all(|term| *term >= newest), Law::NewestActs);
    }

    pub(super) fn judge_trust(&mut self) {
        let trusting = (0..self.state.nodes.len()).filter_map(|index| self.world.trusts(&self.state, index));
        let (count, oldest) = trusting.fold((0, None), |(count, oldest): (u32, Option<Term>), term| {
            (count + 1, Some(oldest.map_or(term, |oldest| oldest.min(term))))
        });
        self.require(count < 2, Law::OneTrusts);
        self.require(oldest.is_none() || oldest >= self.state.record.last_term, Law::NewestActs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mistake::{Mistake, ProcessMistake};
    use crate::model::action::ModelAction;
    use crate::model::options::ModelOptions;
    use crate::model::state::ModelState;
    use crate::model::world::ModelWorld;

    /// When the second candidate, which knows how long the lease runs, finds that it has run out.
    const LEASE_IS_OVER: u64 = 9_100_000_000;

    fn roomy() -> ModelOptions {
        ModelOptions { depth: 12, ..ModelOptions::default() }
    }

    fn world(mistake: ProcessMistake) -> ModelWorld {
        ModelWorld::new(&ModelOptions { mistake: Some(Mistake::Process(mistake)), ..roomy() })
    }

    fn arrive(message: usize) -> ModelAction {
        ModelAction::Arrive { message, again: false }
    }

    /// What is under way to and from the last candidate comes last, and its newest request at the very end.
    fn newest(state: &ModelState) -> ModelAction {
        arrive(state.messages.len() - 1)
    }

    /// The first candidate leads, as the second hears, and its lease runs out; the second comes to lead.
    fn overthrow(world: &ModelWorld, meanwhile: &[ModelAction]) -> ModelState {
        let mut state = world.beginning();
        for _ in 0..2 {
            state = ModelStep::take(world, &state, arrive(0));
        }
        for _ in 0..2 {
            state = ModelStep::take(world, &state, newest(&state));
        }
        for action in [meanwhile, &[ModelAction::Wait(LEASE_IS_OVER)]].concat() {
            state = ModelStep::take(world, &state, action);
        }
        let granted = ModelStep::take(world, &state, newest(&state));
        ModelStep::take(world, &granted, newest(&granted))
    }

    #[test]
    fn two_that_trust_themselves_are_noticed_at_once() {
        let state = overthrow(&world(ProcessMistake::CachedAnswer), &[ModelAction::Pause(0)]);
        assert!(state.signs.has_broken(Law::OneTrusts), "{:?}", state.signs);
    }

    #[test]
    fn two_whose_work_runs_are_noticed_when_time_passes() {
        let world = world(ProcessMistake::NoKill);
        let state = overthrow(&world, &[]);
        assert!(state.signs.is_lawful(), "no time has passed: {:?}", state.signs);
        let later = ModelStep::take(&world, &state, ModelAction::Wait(LEASE_IS_OVER + 1));
        assert!(later.signs.has_broken(Law::OneWorks), "{:?}", later.signs);
    }

    #[test]
    fn a_leader_that_stops_in_time_is_no_offence() {
        let world = ModelWorld::new(&roomy());
        let state = overthrow(&world, &[ModelAction::Wait(LEASE_IS_OVER), ModelAction::WorkEnds(0)]);
        let later = ModelStep::take(&world, &state, ModelAction::Wait(LEASE_IS_OVER + 1));
        assert!(state.elected > Term::new(1) && later.signs.is_lawful(), "{:?}", later.signs);
    }
}
