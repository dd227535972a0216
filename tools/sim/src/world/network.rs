//! Messages between candidates and the store, and what becomes of them on the way.

use std::time::Duration;

use tenure_core::store_rules::record::{ProcessToken, Wake};
use tenure_core::{CampaignReply, Input, Instant, LossReason, Reply, Request, Verb, WriteOutcome};

use super::node::SimNode;
use super::queue::{Incarnation, SimEvent};
use super::view::nanos;
use super::{SimOutcome, SimWorld};
use crate::clock::{MILLI, SimTime};
use crate::fault::FaultClass;
use crate::invariants::Occurrence;
use crate::mistake::{Mistake, StoreMistake};
use crate::store::{Caller, StoreAnswer};
use crate::tally::Situation;
use crate::words;

impl SimWorld {
    /// A request leaves, if it can.
    pub(super) fn send(&mut self, node: usize, request: &Request) {
        let from = self.nodes[node].life(node);
        let link = &self.nodes[node].link;
        let cut = self.now < link.requests_cut_until;
        let down = self.now < self.store_down_until;
        let noticed = (cut && link.refuses) || (down && self.store_refuses);
        self.say(|world| {
            let fate = if cut || down { ", in vain" } else { "" };
            format!("{} {}{fate}", world.name(node), words::asked(request))
        });
        if noticed {
            let reply = failed(&request.verb, WriteOutcome::NotSent);
            return self.answer(from, request, reply, self.now);
        }
        if cut || down || self.is_hit(FaultClass::Loss) {
            return self.disturb_unless(cut || down);
        }
        let copies = self.copies();
        for _ in 0..copies {
            let slow = if self.now < self.store_slow_until { self.rng.up_to(self.store_slow_by) } else { 0 };
            let at = self.now + slow + self.latency();
            self.queue.put(at, SimEvent::AtStore { from, request: request.clone(), sent: self.now });
        }
    }

    /// The store takes its step, and answers.
    pub(super) fn serve(&mut self, from: Incarnation, request: &Request, sent: SimTime) -> SimOutcome {
        if self.now - sent > 4 * self.options.latency {
            // Whatever it does now, nobody expects it any more.
            self.disturb();
        }
        if self.options.has(FaultClass::StoreErrors) && !self.healed && self.rng.permille(self.options.permille) {
            self.disturb();
            let reply = failed(&request.verb, WriteOutcome::Refused);
            self.answer(from, request, reply, sent);
            return Ok(());
        }
        let lateness = Duration::from_nanos(self.rng.up_to(500 * MILLI));
        let answer = self.with_caller(from, lateness, |store, caller| store.serve(caller, &request.verb));
        let StoreAnswer { reply, wake, granted, released, watches } = answer;
        if self.nodes[from.node].life == from.life {
            self.nodes[from.node].watches = watches;
        }
        if let Some(term) = granted {
            self.say(|world| format!("the store grants term {term} to {}", world.name(from.node)));
            self.note_ghost(from);
            self.see(&Occurrence::Granted { node: from.node })?;
        }
        if released {
            self.see(&Occurrence::Released)?;
            self.let_successor_leave()?;
        }
        self.wake(&wake);
        let reply = self.vouch(from, request, reply, sent);
        self.answer(from, request, reply, sent);
        Ok(())
    }

    /// A store that cannot vouch for a grant says so.
    fn vouch(&mut self, from: Incarnation, request: &Request, reply: Reply, sent: SimTime) -> Reply {
        let (Verb::Campaign { nonce }, Reply::Campaign(Ok(CampaignReply::Granted { term }))) = (&request.verb, &reply)
        else {
            return reply;
        };
        if !self.is_hit(FaultClass::UnsureGrants) {
            return reply;
        }
        self.disturb();
        self.say(|world| format!("the store cannot vouch for term {term} of {}", world.name(from.node)));
        if self.options.mistake != Some(Mistake::Store(StoreMistake::GivesBackItself)) {
            return failed(&request.verb, WriteOutcome::Unusable);
        }
        let (successor, reason) = (None, LossReason::Withdrawn);
        let verb = Verb::Resign { nonce: *nonce, term: Some(*term), successor, reason };
        let at = self.now + self.latency();
        self.queue.put(at, SimEvent::AtStore { from, request: Request { id: request.id, verb }, sent });
        failed(&request.verb, WriteOutcome::Refused)
    }

    pub(super) fn with_caller<T>(
        &mut self,
        from: Incarnation,
        lateness: Duration,
        ask: impl FnOnce(&mut crate::store::SimStore, &Caller<'_>) -> T,
    ) -> T {
        let shown = self.store_shows();
        let node = &self.nodes[from.node];
        let sees_death = self.options.kind.sees_death();
        let nodes = &self.nodes;
        let is_gone = |process: ProcessToken| sees_death && is_gone(nodes, life_of(process));
        let caller = Caller {
            now: self.now,
            shown,
            process: token(from),
            candidate: &node.contender.candidate,
            is_gone: &is_gone,
            at_old_primary: self.now < node.link.at_old_primary_until,
            lateness,
        };
        ask(&mut self.store, &caller)
    }

    /// What the clock that leases run on shows.
    pub(super) fn store_shows(&self) -> Instant {
        let clock = self.store.clock.as_ref().unwrap_or(&self.machines[0].clock);
        clock.at(self.now)
    }

    /// Hints leave; they may be lost, and do not matter.
    pub(super) fn wake(&mut self, wake: &[Wake]) {
        for Wake { process, after } in wake {
            let to = life_of(*process);
            let lost = self.options.has(FaultClass::LostHints) && !self.healed && self.rng.percent(60);
            if lost {
                self.jolted_at = self.jolted_at.max(self.now);
            }
            if lost || self.nodes[to.node].is_cut_off(self.now) {
                continue;
            }
            let at = self.now + nanos(*after) + self.latency();
            self.queue.put(at, SimEvent::AtProcess { to, input: Input::Hint, sent: self.now });
        }
    }

    /// An answer leaves, if it can.
    fn answer(&mut self, to: Incarnation, request: &Request, reply: Reply, sent: SimTime) {
        let cut = self.now < self.nodes[to.node].link.answers_cut_until;
        if cut || self.is_hit(FaultClass::Loss) {
            return self.disturb_unless(cut);
        }
        let reply = if self.is_hit(FaultClass::StoreErrors) {
            self.jolted_at = self.jolted_at.max(self.now);
            failed(&request.verb, WriteOutcome::Unknown)
        } else {
            reply
        };
        let copies = self.copies();
        for _ in 0..copies {
            let at = self.now + self.latency() + self.slowness(to.node);
            let input = Input::Reply { request: request.id, reply: reply.clone() };
            self.queue.put(at, SimEvent::AtProcess { to, input, sent });
        }
    }

    /// A cut that lasts is nothing new; a message that is lost is.
    fn disturb_unless(&mut self, known: bool) {
        if !known {
            self.disturb();
        }
    }

    pub(super) fn is_hit(&mut self, fault: FaultClass) -> bool {
        !self.healed && self.options.has(fault) && self.rng.permille(self.options.permille)
    }

    pub(super) fn copies(&mut self) -> usize {
        if self.is_hit(FaultClass::Duplication) {
            self.count(Situation::Duplicate);
            return 2;
        }
        1
    }

    /// Usually short. With bad luck longer than anybody waits, so that what was sent later arrives earlier.
    pub(super) fn latency(&mut self) -> u64 {
        let usual = self.rng.between(self.options.latency / 20, self.options.latency);
        if !self.is_hit(FaultClass::Delay) {
            return usual;
        }
        // Just in time, or much too late.
        let ttl = nanos(self.options.max_ttl());
        let longest = if self.rng.percent(60) { ttl / 10 } else { ttl * 3 / 2 };
        let delayed = usual + self.rng.up_to(longest);
        self.jolted_at = self.jolted_at.max(self.now + delayed);
        delayed
    }

    /// Not quite as long as the one that waits has patience.
    pub(super) fn slowness(&mut self, node: usize) -> u64 {
        if self.healed || !node.is_multiple_of(2) || !self.options.has(FaultClass::SlowAnswers) {
            return 0;
        }
        let patience = nanos(self.nodes[node].contender.candidate.timing.attempt_timeout());
        self.rng.between(patience / 4, patience * 11 / 20)
    }

    /// A grant to a process that is gone, or that answers do not reach.
    fn note_ghost(&mut self, to: Incarnation) {
        let node = &self.nodes[to.node];
        if node.life != to.life || node.elector.is_none() || self.now < node.link.answers_cut_until {
            self.count(Situation::GhostLease);
        }
    }
}

/// A process counts as gone when nothing of it is left, its work included.
pub(super) fn is_gone(nodes: &[SimNode], of: Incarnation) -> bool {
    let node = &nodes[of.node];
    let runs = node.life == of.life && node.elector.is_some();
    !runs && node.work.as_ref().is_none_or(|work| work.of != of)
}

fn failed(verb: &Verb, failure: WriteOutcome) -> Reply {
    match verb {
        Verb::Campaign { .. } => Reply::Campaign(Err::<CampaignReply, _>(failure)),
        Verb::Renew { .. } => Reply::Renew(Err(failure)),
        Verb::Resign { .. } => Reply::Resign(Err(failure)),
    }
}

fn token(life: Incarnation) -> ProcessToken {
    ProcessToken((life.node as u128) << 32 | u128::from(life.life))
}

pub(super) fn life_of(token: ProcessToken) -> Incarnation {
    let node = usize::try_from(token.0 >> 32).unwrap_or_default();
    Incarnation { node, life: u32::try_from(token.0 & u128::from(u32::MAX)).unwrap_or_default() }
}
