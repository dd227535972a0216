//! Doing one thing, and judging what came of it.

use std::time::Duration;

use tenure_core::record::{ProcessToken, Record};
use tenure_core::{CampaignReply, Input, Instant, Reply, Request, RequestId};

use super::action::Action;
use super::laws::{Signs, Situation};
use super::shared::Shared;
use super::state::{Body, Message, Node, Phase, State, Work};
use super::store::{self, Asked};
use super::world::World;
use crate::words::{name, told};

/// A step that is being taken.
pub(super) struct Step<'a> {
    pub(super) world: &'a World,
    pub(super) state: State,
    /// What happened, in words, if anybody wants to know.
    notes: Option<Vec<String>>,
}

impl<'a> Step<'a> {
    pub(super) fn from(world: &'a World, state: State) -> Self {
        Self { world, state, notes: None }
    }

    /// The state after an action.
    pub(super) fn take(world: &'a World, before: &State, action: Action) -> State {
        let mut step = Self::from(world, before.clone());
        step.act(action);
        step.end()
    }

    /// What happens when an action is taken, in words.
    pub(super) fn tell(world: &'a World, before: &State, action: Action) -> Vec<String> {
        let mut step = Self { world, state: before.clone(), notes: Some(Vec::new()) };
        step.act(action);
        step.notes.unwrap_or_default()
    }

    pub(super) fn end(mut self) -> State {
        self.judge_trust();
        self.state
    }

    fn act(&mut self, action: Action) {
        self.state.signs = Signs::default();
        let forced = matches!(action, Action::Wake(_)) || self.is_forced(action);
        self.state.steps_left -= u8::from(!forced);
        match action {
            Action::Wait(until) => self.wait(until),
            Action::Wake(index) => self.feed(index, Input::Timeout),
            Action::Arrive { message, again } => self.arrive(message, again),
            Action::Break(message) => self.break_off(message),
            Action::Pause(index) => {
                self.state.left.spend(|left| &mut left.pauses);
                self.note(|| format!("{} pauses", name(index)));
                self.change(index, |node| node.paused = true);
            }
            Action::Resume(index) => self.resume(index),
            Action::Crash(index) => self.crash(index),
            Action::Resign(index) => {
                self.state.left.resignations -= 1;
                self.note(|| format!("{} resigns", name(index)));
                self.feed(index, Input::Resign { term: None, successor: None });
            }
            Action::WorkEnds(index) => self.work_ends(index),
            Action::Hint(index) => {
                self.state.left.spend(|left| &mut left.hints);
                self.note(|| format!("{} is told to look", name(index)));
                self.feed(index, Input::Hint);
            }
            Action::Leave(index) => {
                self.state.left.departures -= 1;
                self.note(|| format!("{} leaves", name(index)));
                self.feed(index, Input::Stop);
            }
        }
    }

    /// The death of work that was killed is due, like a timer.
    fn is_forced(&self, action: Action) -> bool {
        let Action::WorkEnds(index) = action else { return false };
        let now = self.clock(index);
        matches!(self.state.nodes[index].work, Some(Work { phase: Phase::Dying { by }, .. }) if by <= now)
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

    fn serve(&mut self, message: &Message, request: &Request) {
        let index = message.node;
        let mut record = Record::clone(&self.state.record);
        let asked = Asked {
            node: index,
            process: token(message.node, message.incarnation),
            now: self.world.store_clock.at(self.state.now),
        };
        let served = store::serve(self.world, &mut record, &asked, request);
        self.note(|| format!("the store answers {} #{}: {}", name(index), request.id.0, told(&served.reply)));
        self.judge_lease(&record, request);
        self.state.record = Shared::new(record);
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
            self.show(is_late, Situation::LateGrantIgnored);
            self.show(resigned == Some(term), Situation::DuplicateGrantIgnored);
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
        self.show(leads.is_some() && leads < self.state.elected, Situation::ResumedTooLate);
        self.change(index, |node| node.paused = false);
    }

    fn crash(&mut self, index: usize) {
        self.state.left.spend(|left| &mut left.crashes);
        self.note(|| format!("{} crashes and starts again", name(index)));
        self.gives_up(index);
        let dead = &self.state.nodes[index];
        let next = Node {
            incarnation: dead.incarnation + 1,
            fell: dead.fell || dead.elector.leads_under().is_some(),
            ..Node::new(self.world.elector(index))
        };
        let is_lost = |message: &Message| message.node == index && !message.body.is_request();
        self.state.messages.retain(|message| !is_lost(message));
        self.state.nodes[index] = Shared::new(next);
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
        self.show(is_ghost, Situation::GhostLease);
        self.change(index, |node| node.asked = None);
    }

    fn send(&mut self, node: usize, body: Body) {
        let incarnation = self.state.nodes[node].incarnation;
        self.state.send(Message { node, incarnation, body: Shared::new(body) }, self.world.options.link);
    }

    pub(super) fn change(&mut self, index: usize, change: impl FnOnce(&mut Node)) {
        let mut node = Node::clone(&self.state.nodes[index]);
        change(&mut node);
        self.state.nodes[index] = Shared::new(node);
    }

    pub(super) fn clock(&self, index: usize) -> Instant {
        self.world.clocks[index].at(self.state.now)
    }

    pub(super) fn show(&mut self, is_shown: bool, situation: Situation) {
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
