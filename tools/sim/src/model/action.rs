//! What can happen next.

use std::time::Duration;

use super::clock::ModelTime;
use super::state::{Body, ModelMessage, ModelNode, ModelState, ModelWork, WorkPhase};
use super::world::ModelWorld;

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelAction {
    /// Time passes until then.
    Wait(u64),
    /// A candidate that is due is called.
    Wake(usize),
    /// A message arrives.
    Arrive {
        /// Its place among those under way.
        message: usize,
        /// Whether it will arrive once more.
        again: bool,
    },
    /// A connection breaks: a message is lost, and its candidate knows.
    Break(usize),
    /// A candidate stands still, and its clock goes on.
    Pause(usize),
    /// A candidate goes on.
    Resume(usize),
    /// A process dies with its work, and another begins in its place.
    Crash(usize),
    /// An application resigns.
    Resign(usize),
    /// Work that was told to stop has ended.
    WorkEnds(usize),
    /// A candidate is told to look for no reason.
    Hint(usize),
    /// A candidate leaves.
    Leave(usize),
}

impl ModelWorld {
    /// Everything that can happen in this state.
    pub(super) fn possible(&self, state: &ModelState, actions: &mut Vec<ModelAction>) {
        if state.steps_left == 0 || !state.signs.is_lawful() {
            return;
        }
        let wakes = (0..state.nodes.len()).filter(|index| self.must_wake(state, *index));
        actions.extend(wakes.map(ModelAction::Wake));
        arrivals(state, actions);
        for (index, node) in state.nodes.iter().enumerate() {
            decisions(state, index, node, actions);
        }
        if !self.is_overdue(state) {
            self.waits(state, actions);
        }
    }

    /// Time stands still until all that is due has been done: only a pause makes anybody late.
    pub(super) fn is_overdue(&self, state: &ModelState) -> bool {
        self.next_due(state).is_some_and(|due| due <= state.now)
    }

    /// When somebody must be called, or have seen its work end, who is not paused.
    pub(super) fn next_due(&self, state: &ModelState) -> Option<ModelTime> {
        let clocks = self.clocks.iter();
        clocks.zip(&state.nodes).filter_map(|(clock, node)| node.due().map(|at| clock.when(at))).min()
    }

    /// Whether a candidate is to be called now.
    pub(super) fn must_wake(&self, state: &ModelState, index: usize) -> bool {
        let node = &state.nodes[index];
        !node.paused && node.timeout.is_some_and(|at| at <= self.clocks[index].at(state.now))
    }

    /// Time can pass up to any instant that matters: the next call that is due, an end at the store, a deadline that a
    /// pause makes somebody miss, or the next beat. Whoever is due on the way is called on the way.
    ///
    /// Nothing changes by itself between two such instants. When exactly a message arrives between them decides only
    /// when the lease or the trust ends that counts from there: beats make for some choice, and the ends and deadlines
    /// are the moments at which one that is too early or too late does harm.
    fn waits(&self, state: &ModelState, actions: &mut Vec<ModelAction>) {
        let horizon = nanos(self.options.horizon);
        let mut instants: Vec<ModelTime> = self.next_due(state).into_iter().collect();
        instants.extend(self.ends_at_store(state).chain(self.ends_in_pauses(state)).chain(self.next_beat(state)));
        instants.retain(|at| state.now < *at && *at <= horizon);
        instants.sort_unstable();
        instants.dedup();
        actions.extend(instants.into_iter().map(ModelAction::Wait));
    }

    fn ends_at_store(&self, state: &ModelState) -> impl Iterator<Item = ModelTime> {
        let lease = state.record.lease.as_ref().map(|lease| lease.expires_at);
        let reservation = state.record.reservation.as_ref().map(|reservation| reservation.until);
        [lease, reservation].into_iter().flatten().map(|at| self.store_clock.when(at))
    }

    /// The deadlines that a paused candidate misses.
    fn ends_in_pauses(&self, state: &ModelState) -> impl Iterator<Item = ModelTime> {
        let paused = self.clocks.iter().zip(&state.nodes).filter(|(_, node)| node.paused);
        paused.flat_map(|(clock, node)| {
            let trust = node.elector.leads_under().map(|(_, trust)| trust);
            let until = node.work.map(|work| work.until);
            let missed = [node.timeout, trust.map(|trust| trust.stop_at), trust.map(|trust| trust.kill_at), until];
            missed.into_iter().flatten().map(|at| clock.when(at))
        })
    }

    fn next_beat(&self, state: &ModelState) -> Option<ModelTime> {
        let beat = nanos(self.options.beat).max(1);
        (state.now / beat + 1).checked_mul(beat)
    }
}

fn arrivals(state: &ModelState, actions: &mut Vec<ModelAction>) {
    for (message, under_way) in state.messages.iter().enumerate() {
        let is_copy = message > 0 && state.messages[message - 1] == *under_way;
        let node = &state.nodes[under_way.node];
        let to_store = under_way.body.is_request();
        if is_copy || (node.paused && !to_store) {
            continue;
        }
        actions.push(ModelAction::Arrive { message, again: false });
        if state.left.duplicates > 0 && *under_way.body != Body::Hint {
            actions.push(ModelAction::Arrive { message, again: true });
        }
        if state.left.breaks > 0 && !node.paused && is_waited_for(node, under_way) {
            actions.push(ModelAction::Break(message));
        }
    }
}

/// Nobody notices that something breaks that nobody waits for.
fn is_waited_for(node: &ModelNode, message: &ModelMessage) -> bool {
    let id = message.body.request();
    message.incarnation == node.incarnation && id.is_some() && node.asked.map(|asked| asked.id) == id
}

fn decisions(state: &ModelState, index: usize, node: &ModelNode, actions: &mut Vec<ModelAction>) {
    let left = &state.left;
    let mut offer = |possible: bool, action| actions.extend(possible.then_some(action));
    offer(node.paused, ModelAction::Resume(index));
    offer(left.crashes > 0 && !node.stopped, ModelAction::Crash(index));
    if node.paused {
        return;
    }
    let leads = node.elector.leads_under().is_some();
    let ends = matches!(node.work, Some(ModelWork { phase: WorkPhase::Stopping | WorkPhase::Dying { .. }, .. }));
    offer(ends, ModelAction::WorkEnds(index));
    offer(left.pauses > 0 && !node.stopped, ModelAction::Pause(index));
    offer(left.resignations > 0 && leads, ModelAction::Resign(index));
    offer(left.hints > 0 && !node.stopped, ModelAction::Hint(index));
    offer(left.departures > 0 && !node.stopped, ModelAction::Leave(index));
}

fn nanos(duration: Duration) -> ModelTime {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
