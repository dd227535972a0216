//! Requests about messages, and what becomes of them on the way: the same as of all others.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::WriteOutcome;
use tenure_core::messages::{AckReply, InboxInput, MailboxReply, Received};
use tenure_core::store_rules::mailbox::SendReply;

use super::event::MailParty;
use super::{ServedMail, SimMailEvent};
use crate::clock::SimTime;
use crate::fault::FaultClass;
use crate::invariants::Occurrence;
use crate::store::{MailReply, MailRequest};
use crate::tally::Situation;
use crate::world::network::life_of;
use crate::world::queue::Incarnation;
use crate::world::{SimOutcome, SimWorld};

impl SimWorld {
    /// A request leaves, if it can.
    pub(super) fn ask_mail(&mut self, from: MailParty, request: &Arc<MailRequest>) {
        self.say(|world| format!("{} asks the mailbox: {}", world.party(from), said(request)));
        let link = self.node_of(from).map(|node| &self.nodes[node].link);
        let cut = link.is_some_and(|link| self.now < link.requests_cut_until);
        let refuses = link.is_some_and(|link| link.refuses);
        let down = self.now < self.store_down_until;
        if (cut && refuses) || (down && self.store_refuses) {
            self.answer_mail(from, MailReply::Failed(WriteOutcome::NotSent));
        } else if cut || down || self.by_chance_of_mail(|world| world.is_hit(FaultClass::Loss)) {
            self.disturb_mail();
        } else {
            let slow_by = if self.now < self.store_slow_until { self.store_slow_by } else { 0 };
            for _ in 0..self.by_chance_of_mail(Self::copies) {
                let takes = self.by_chance_of_mail(|world| world.rng.up_to(slow_by) + world.latency());
                let at = self.mail_arrival(takes);
                self.put_mail(at, SimMailEvent::AtStore { from, request: Arc::clone(request) });
            }
        }
    }

    /// The store takes its step, and answers.
    pub(super) fn serve_mail(&mut self, from: MailParty, request: &MailRequest) -> SimOutcome {
        if self.by_chance_of_mail(|world| world.is_hit(FaultClass::StoreErrors)) {
            // Messages may come twice here: one copy fails, and another one may have its effect.
            self.answer_mail(from, MailReply::Failed(WriteOutcome::Unknown));
            return Ok(());
        }
        let limits = self.options.mail.as_ref().map(|mail| mail.mailbox_limits).unwrap_or_default();
        // One from outside talks to whoever is in charge.
        let by = match from {
            MailParty::Inbox { of, .. } => of,
            MailParty::Sender { .. } => self.nodes[0].life(0),
        };
        let at_old_primary =
            self.node_of(from).is_some_and(|node| self.now < self.nodes[node].link.at_old_primary_until);
        let reply = self
            .with_caller(by, Duration::ZERO, |store, caller| store.serve_mail(caller, at_old_primary, request, limits));
        self.say(|_| format!("the mailbox answers {reply:?}"));
        self.count_mail(request, &reply);
        self.see(&Occurrence::Mailed(&ServedMail { request, reply: &reply }))?;
        if let MailReply::Sent(SendReply::Accepted) = reply {
            self.hint_of_mail();
        }
        self.answer_mail(from, reply);
        Ok(())
    }

    fn count_mail(&mut self, request: &MailRequest, reply: &MailReply) {
        let situation = match reply {
            MailReply::Sent(SendReply::Known) => Situation::SentAgain,
            MailReply::Received(Received::NotHolder) | MailReply::Acked(AckReply::NotHolder) => Situation::MailOfOther,
            MailReply::Acked(AckReply::Accepted { .. }) if is_any_dead_lettered(request) => {
                Situation::MessageDeadLettered
            }
            _ => return,
        };
        self.count(situation);
    }

    /// Whoever holds the lease hears of a new message, perhaps.
    fn hint_of_mail(&mut self) {
        if self.options.mail.as_ref().is_none_or(|mail| !mail.pushes) {
            return;
        }
        let Some((process, _)) = self.store.holder(self.store_shows()) else { return };
        let to = life_of(process);
        let can_lose = self.options.has(FaultClass::LostHints) && !self.healed;
        let lost = self.by_chance_of_mail(|world| can_lose && world.rng.percent(60));
        if !lost && !self.nodes[to.node].is_cut_off(self.now) {
            let at = self.now + self.by_chance_of_mail(Self::latency);
            self.put_mail(at, SimMailEvent::Hint { to });
        }
    }

    /// An answer leaves, if it can.
    fn answer_mail(&mut self, to: MailParty, reply: MailReply) {
        if matches!(reply, MailReply::Failed(_)) {
            self.disturb_mail();
        }
        let node = self.node_of(to);
        let cut = node.is_some_and(|node| self.now < self.nodes[node].link.answers_cut_until);
        if cut || self.by_chance_of_mail(|world| world.is_hit(FaultClass::Loss)) {
            return self.disturb_mail();
        }
        let reply = Arc::new(reply);
        for _ in 0..self.by_chance_of_mail(Self::copies) {
            let slow = |world: &mut Self| node.map_or(0, |node| world.slowness(node));
            let takes = self.by_chance_of_mail(|world| world.latency() + slow(world));
            let at = self.mail_arrival(takes);
            self.put_mail(at, SimMailEvent::Heard { to, reply: Arc::clone(&reply) });
        }
    }

    /// An answer is there.
    pub(super) fn hear_of_mail(&mut self, to: MailParty, reply: &MailReply) -> SimOutcome {
        let (of, call) = match to {
            MailParty::Inbox { of, call } => (of, call),
            MailParty::Sender { sender, number } => {
                self.hear_of_sending(sender, number, reply);
                return Ok(());
            }
        };
        if self.inbox_of(of).is_none() {
            return Ok(());
        }
        let replies = match reply {
            MailReply::Received(received) => vec![MailboxReply::Received(Ok(received.clone()))],
            MailReply::Acked(acked) => vec![MailboxReply::Acked(Ok(*acked))],
            // Only one of them can be meant.
            MailReply::Failed(outcome) => {
                vec![MailboxReply::Received(Err(*outcome)), MailboxReply::Acked(Err(*outcome))]
            }
            MailReply::Sent(_) => Vec::new(),
        };
        replies.into_iter().try_for_each(|reply| self.feed_mail(of.node, InboxInput::Reply { call, reply }))
    }

    fn node_of(&self, party: MailParty) -> Option<usize> {
        match party {
            MailParty::Inbox { of: Incarnation { node, .. }, .. } => Some(node),
            MailParty::Sender { sender, .. } => self.messages.senders[sender].inside(),
        }
    }

    fn party(&self, party: MailParty) -> String {
        match party {
            MailParty::Inbox { of, .. } => self.name(of.node),
            MailParty::Sender { sender, .. } => format!("sender {sender}"),
        }
    }

    /// What takes longer than usual disturbs.
    fn mail_arrival(&mut self, takes: u64) -> SimTime {
        if takes > self.options.latency {
            self.disturb_mail();
        }
        self.now + takes
    }

    fn disturb_mail(&mut self) {
        self.messages.disturbed_at = self.now;
    }

    /// The same chance as elsewhere, out of a stream of its own.
    fn by_chance_of_mail<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.rng, &mut self.messages.rng);
        let drawn = draw(self);
        std::mem::swap(&mut self.rng, &mut self.messages.rng);
        drawn
    }
}

fn is_any_dead_lettered(request: &MailRequest) -> bool {
    let MailRequest::Ack(ack) = request else { return false };
    let is_dead_lettered = |outcome: &tenure_core::messages::AckOutcome| {
        matches!(outcome, tenure_core::messages::AckOutcome::DeadLettered { .. })
    };
    ack.outcomes.iter().any(|(_, outcome)| is_dead_lettered(outcome))
}

fn said(request: &MailRequest) -> String {
    match request {
        MailRequest::Send(new_message) => format!("send {:x}", new_message.id.to_bits()),
        MailRequest::Receive(receive) => format!("receive under term {}", receive.term),
        MailRequest::Ack(ack) => {
            let outcomes: Vec<String> =
                ack.outcomes.iter().map(|(id, outcome)| format!("{:x} {outcome:?}", id.to_bits())).collect();
            format!("ack under term {}: {}", ack.term, outcomes.join(", "))
        }
    }
}
