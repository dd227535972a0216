//! What happens to messages.

use std::sync::Arc;

use tenure_core::messages::MailboxCallId;
use tenure_core::{ChannelName, Term};

use super::{DeliveryEnd, SimDelivery};
use crate::store::{MailReply, MailRequest};
use crate::world::queue::{Incarnation, SimEvent};
use crate::world::{SimOutcome, SimWorld};

/// Something that will happen.
#[derive(Debug, Clone)]
pub(crate) enum SimMailEvent {
    /// The alarm of an inbox rings; only the last that was set counts.
    Look { of: Incarnation, alarm: u64 },
    /// A request reaches the store.
    AtStore { from: MailParty, request: Arc<MailRequest> },
    /// An answer reaches whoever asked.
    Heard { to: MailParty, reply: Arc<MailReply> },
    /// The store tells a process of new messages.
    Hint { to: Incarnation },
    /// The work of a leadership has had its time, or has ended.
    Over { of: Incarnation, term: Term },
    /// Somebody who reads a channel wants the next message.
    Take { of: Incarnation, channel: ChannelName },
    /// Handling a message takes no longer.
    Handled { of: Incarnation, number: u64, end: DeliveryEnd },
    /// A process sees that a message was handled, or that its leadership cut it short.
    SeenToEnd { delivery: Arc<SimDelivery>, end: DeliveryEnd },
    /// A sender has something to send.
    Send { sender: usize },
    /// A sender does not wait for an answer any longer.
    SendAgain { sender: usize, attempt: u64 },
}

/// Who asks the store about messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MailParty {
    Inbox {
        of: Incarnation,
        call: MailboxCallId,
    },
    /// The message is known by its number.
    Sender {
        sender: usize,
        number: u32,
    },
}

impl SimWorld {
    pub(in crate::world) fn happen_to_messages(&mut self, event: SimMailEvent) -> SimOutcome {
        if let Some(node) = self.keeps_mail_waiting(&event) {
            self.messages.held.push((node, event));
            return Ok(());
        }
        match event {
            SimMailEvent::Look { of, alarm } => self.look_for_mail(of, alarm),
            SimMailEvent::AtStore { from, request } => self.serve_mail(from, &request),
            SimMailEvent::Heard { to, reply } => self.hear_of_mail(to, &reply),
            SimMailEvent::Hint { to } => self.hint_mail(to),
            SimMailEvent::Over { of, term } => self.mail_is_over(of, term),
            SimMailEvent::Take { of, channel } => self.take_mail(of, &channel),
            SimMailEvent::Handled { number, end, .. } => self.end_handling(number, end),
            SimMailEvent::SeenToEnd { delivery, end } => self.see_handling_end(&delivery, end),
            SimMailEvent::Send { sender } => self.send_next(sender),
            SimMailEvent::SendAgain { sender, attempt } => self.send_again(sender, attempt),
        }
    }

    /// Who has to be there for it, and is not.
    fn keeps_mail_waiting(&self, event: &SimMailEvent) -> Option<usize> {
        let node = match event {
            SimMailEvent::AtStore { .. } => return None,
            SimMailEvent::Look { of, .. }
            | SimMailEvent::Over { of, .. }
            | SimMailEvent::Take { of, .. }
            | SimMailEvent::Handled { of, .. }
            | SimMailEvent::Hint { to: of }
            | SimMailEvent::Heard { to: MailParty::Inbox { of, .. }, .. } => of.node,
            SimMailEvent::SeenToEnd { delivery, .. } => delivery.of.node,
            SimMailEvent::Heard { to: MailParty::Sender { sender, .. }, .. }
            | SimMailEvent::Send { sender }
            | SimMailEvent::SendAgain { sender, .. } => self.messages.senders[*sender].inside()?,
        };
        (self.now < self.nodes[node].away_until(&self.machines)).then_some(node)
    }

    /// A process is there again, and finds what has waited for it.
    pub(in crate::world) fn resume_messages(&mut self, node: usize) {
        let (mine, others): (Vec<_>, Vec<_>) = self.messages.held.drain(..).partition(|(of, _)| *of == node);
        self.messages.held = others;
        for (_, event) in mine {
            self.put_mail(self.now, event);
        }
    }

    pub(super) fn put_mail(&mut self, at: crate::clock::SimTime, event: SimMailEvent) {
        self.queue.put(at, SimEvent::Mail(Box::new(event)));
    }
}
