//! Doing one thing, and judging what came of it.

use std::time::Duration;

use tenure_core::store_rules::record::{ProcessToken, Record};
use tenure_core::{CampaignReply, Input, Instant, Reply, Request, RequestId};

use super::action::ModelAction;
use super::laws::{ModelSituation, Signs};
use super::shared::Interned;
use super::state::{Body, ModelMessage, ModelNode, ModelState, ModelWork, WorkPhase};
use super::store::{self, ModelCaller};
use super::world::ModelWorld;
use crate::words::{name, told};

/// A step that is being taken.
pub(super) struct ModelStep<'a> {
    pub(super) world: &'a ModelWorld,
    pub(super) state: ModelState,
    /// What happened, in words, if anybody wants to know.
    notes: Option<Vec<String>>,
}

impl<'a> ModelStep<'a> {
    pub(super) fn from(world: &'a ModelWorld, state: ModelState) -> Self {
        Self { world, state, notes: None }
    }

    /// The state after an action.
    pub(super) fn take(world: &'a ModelWorld, before: &ModelState, action: ModelAction) -> ModelState {
        let mut step = Self::from(world, before.clone());
        step.act(action);
        step.end()
    }

    /// What happens when an action is taken, in words.
    pub(super) fn tell(world: &'a ModelWorld, before: &ModelState, action: ModelAction) -> Vec<String> {
        let mut step = Self { world, state: before.clone(), notes: Some(Vec::new()) };
        step.act(action);
        step.notes.unwrap_or_default()
    }

    pub(super) fn end(mut self) -> ModelState {
        self.judge_trust();
        self.state
    }

    fn act(&mut self, action: ModelAction) {
        self.state.signs = Signs::default();
        let forced = matches!(action, ModelAction::Wake(_)) || self.is_forced(action);
        self.state.steps_left -= u8::from(!forced);
        match action {
            ModelAction::Wait(until) => self.wait(until),
            ModelAction::Wake(index) => self.feed(index, Input::Timeout),
            ModelAction::Arrive { message, again } => self.arrive(message, again),
            ModelAction::Break(message) => self.break_off(message),
            ModelAction::Pause(index) => {
                self.state.left.spend(|left| &mut left.pauses);
                self.note(|| format!("{} pauses", name(index)));
                self.change(index, |node| node.paused = true);
            }
            ModelAction::Resume(index) => self.resume(index),
            ModelAction::Crash(index) => self.crash(index),
            ModelAction::Resign(index) => {
                self.state.left.resignations -= 1;
                self.note(|| format!("{} resigns", name(index)));
                self.feed(index, Input::Resign { term: None, successor: None });
            }
            ModelAction::WorkEnds(index) => self.work_ends(index),
            ModelAction::Hint(index) => {
                self.state.left.spend(|left| &mut left.hints);
                self.note(|| format!("{} is told to look", name(index)));
                self.feed(index, Input::Hint);
            }
            ModelAction::Leave(index) => {
                self.state.left.departures -= 1;
                self.note(|| format!("{} leaves", name(index)));
                self.feed(index, Input::Stop);
            }
        }
    }

    /// The death of work that was killed is due, like a timer.
    fn is_forced(&self, action: ModelAction) -> bool {
        let ModelAction::WorkEnds(index) = action else { return false };
        let now = self.clock(index);
        matches!(self.state.nodes[index].work, Some(ModelWork { phase: WorkPhase::Dying { by }, .. }) if by <= now)
    }

    /// Leaps, unless something comes up that must be done first.
    fn wait(&mut self, until: u64) {
        while self.state.now < until && self.state.signs.is_lawful() && !self.world.is_overdue(&self.state) {
            self.judge_work();
            self.state.now = self.world.next_due(&self.state).map_or(until, |due| due.min(until));
            let seconds = Duration::from_nanos(self.state.now).as_secs_f64();
            self.note(|| format!("time passes to {seconds:.3}s"));
            for index in 0..self.state.nodes.len() {
                if self.world.must_wake(&self.state, index) {
                    self.feed(index, Input::Timeout);
                }
            }
            self.judge_trust();
        }
    }

    fn arrive(&mut self, position: usize, again: bool) {
        let message = if again {
            self.state.left.spend(|left| &mut left.duplicates);
            self.note(|| "a copy stays under way".to_owned());
            self.state.messages[position].clone()
        } else {
            self.state.messages.remove(position)
        };
        let index = message.node;
        match &*message.body {
            Body::Hint => self.feed(index, Input::Hint),
            Body::Request(request) => self.serve(&message, request),
            Body::Reply(id, reply) => self.answer(index, *id, reply),
        }
    }

    fn serve(&mut self, message: &ModelMessage, request: &Request) {
        let index = message.node;
        let mut record = Record::clone(&self.state.record);
        let asked = ModelCaller {
            node: index,
            process: token(message.node, message.incarnation),
            now: self.world.store_clock.at(self.state.now),
        };
        let served = store::serve(self.world, &mut record, &asked, request);
        self.note(|| format!("the store answers {} #{}: {}", name(index), request.id.0, told(&served.reply)));
        self.judge_lease(&record, request);
        self.state.record = Interned::new(record);
        self.state.grant = served.grant.or(self.state.grant);
        // What an earlier incarnation asked has effects, but nobody hears of them.
        if message.incarnation == self.state.nodes[index].incarnation {
            self.send(message.node, Body::Reply(request.id, served.reply));
        }
        for node in 0..self.state.nodes.len() {
            if served.wake.contains(&token(node, self.state.nodes[node].incarnation)) {
                self.send(node, Body::Hint);
            }
        }
    }

    fn answer(&mut self, index: usize, id: RequestId, reply: &Reply) {
        self.note(|| format!("{} hears #{}: {}", name(index), id.0, told(reply)));
        let now = self.clock(index);
        let node = &self.state.nodes[index];
        let is_awaited = node.asked.is_some_and(|asked| asked.id == id && now < asked.given_up_at);
        let is_late = !is_awaited && id > node.answered;
        let resigned = node.resigned;
        let elected = self.state.elected;
        if is_awaited {
            self.change(index, |node| {
                node.asked = None;
                node.answered = id;
            });
        }
        self.feed(index, Input::Reply { request: id, reply: reply.clone() });
        let Reply::Campaign(Ok(CampaignReply::Granted { term })) = *reply else { return };
        if self.state.elected == elected {
            self.show(is_late, ModelSituation::LateGrantIgnored);
            self.show(resigned == Some(term), ModelSituation::DuplicateGrantIgnored);
        }
    }

    fn break_off(&mut self, position: usize) {
        self.state.left.spend(|left| &mut left.breaks);
        let message = self.state.messages.remove(position);
        let index = message.node;
        self.note(|| format!("the connection of {} breaks", name(index)));
        let Some((id, reply)) = message.body.unanswered() else { return };
        self.gives_up(index);
        self.feed(index, Input::Reply { request: id, reply });
    }

    fn resume(&mut self, index: usize) {
        self.note(|| format!("{} goes on", name(index)));
        let leads = self.state.nodes[index].elector.leads_under().map(|(term, _)| term);
        self.show(leads.is_some() && leads < self.state.elected, ModelSituation::ResumedTooLate);
        self.change(index, |node| node.paused = false);
    }

    fn crash(&mut self, index: usize) {
        self.state.left.spend(|left| &mut left.crashes);
        self.note(|| format!("{} crashes and starts again", name(index)));
        self.gives_up(index);
        let dead = &self.state.nodes[index];
        let next = ModelNode {
            incarnation: dead.incarnation + 1,
            fell: dead.fell || dead.elector.leads_under().is_some(),
            ..ModelNode::new(self.world.elector(index))
        };
        let is_lost = |message: &ModelMessage| message.node == index && !message.body.is_request();
        self.state.messages.retain(|message| !is_lost(message));
        self.state.nodes[index] = Interned::new(next);
        self.feed(index, Input::Start);
    }

    fn work_ends(&mut self, index: usize) {
        let Some(work) = self.state.nodes[index].work else { return };
        self.note(|| format!("the work of {} under term {} has ended", name(index), work.term));
        self.change(index, |node| node.work = None);
        self.feed(index, Input::WorkEnded { term: work.term });
    }

    /// A request is not waited for any longer.
    pub(super) fn gives_up(&mut self, index: usize) {
        let Some(asked) = self.state.nodes[index].asked else { return };
        let now = self.world.store_clock.at(self.state.now);
        let lease = self.state.record.lease.as_ref().filter(|lease| now < lease.expires_at);
        let is_ghost =
            lease.is_some_and(|lease| Some(lease.nonce) == asked.nonce && self.state.elected < Some(lease.leader.term));
        self.show(is_ghost, ModelSituation::GhostLease);
        self.change(index, |node| node.asked = None);
    }

    fn send(&mut self, node: usize, body: Body) {
        let incarnation = self.state.nodes[node].incarnation;
        self.state.send(ModelMessage { node, incarnation, body: Interned::new(body) }, self.world.options.link);
    }

    pub(super) fn change(&mut self, index: usize, change: impl FnOnce(&mut ModelNode)) {
        let mut node = ModelNode::clone(&self.state.nodes[index]);
        change(&mut node);
        self.state.nodes[index] = Interned::new(node);
    }

    pub(super) fn clock(&self, index: usize) -> Instant {
        self.world.clocks[index].at(self.state.now)
    }

    pub(super) fn show(&mut self, is_shown: bool, situation: ModelSituation) {
        if is_shown {
            self.state.signs.shows(situation);
        }
    }

    pub(super) fn note(&mut self, note: impl FnOnce() -> String) {
        if let Some(notes) = &mut self.notes {
            notes.push(note());
        }
    }
}

fn token(node: usize, incarnation: u8) -> ProcessToken {
    ProcessToken((node as u128) << 8 | u128::from(incarnation))
}
