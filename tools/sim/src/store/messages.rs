//! One request about messages at a store: the real rules of its mailbox, and the mistakes it can be made to make.

use std::sync::Arc;

use tenure_core::messages::{Ack, AckOutcome, AckReply, MessageState, NewMessage, Receive, Received};
use tenure_core::store_rules::mailbox::{MailboxLimits, MailboxRecord, SendReply};
use tenure_core::{Nonce, Term, WriteOutcome};

use crate::mistake::MailboxMistake;

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) enum MailRequest {
    Send(NewMessage),
    Receive(Receive),
    Ack(Ack),
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) enum MailReply {
    Sent(SendReply),
    Received(Received),
    Acked(AckReply),
    /// The store could not be asked, or could not answer.
    Failed(WriteOutcome),
}

/// Where a request about messages is served.
pub(crate) struct MailStep<'a> {
    pub(crate) mailbox: &'a mut Arc<MailboxRecord>,
    pub(crate) limits: MailboxLimits,
    /// Whether whoever asks holds the lease.
    pub(crate) is_held: bool,
    pub(crate) mistake: Option<MailboxMistake>,
}

impl MailRequest {
    /// Who has to hold the lease.
    pub(crate) fn asker(&self) -> Option<(Nonce, Term)> {
        match self {
            Self::Send(_) => None,
            Self::Receive(receive) => Some((receive.nonce, receive.term)),
            Self::Ack(ack) => Some((ack.nonce, ack.term)),
        }
    }
}

impl MailStep<'_> {
    /// One atomic step.
    pub(crate) fn serve(&mut self, request: &MailRequest) -> MailReply {
        match request {
            MailRequest::Send(new_message) => MailReply::Sent(self.send(new_message)),
            MailRequest::Receive(receive) => MailReply::Received(self.receive(receive)),
            MailRequest::Ack(ack) => MailReply::Acked(self.ack(ack)),
        }
    }

    fn makes(&self, mistake: MailboxMistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn send(&mut self, new_message: &NewMessage) -> SendReply {
        let takes_twice = self.makes(MailboxMistake::AcceptsTwice);
        let mailbox = Arc::make_mut(self.mailbox);
        if takes_twice {
            mailbox.places.remove(&new_message.id);
        }
        mailbox.send(new_message, self.limits, 0)
    }

    fn receive(&mut self, receive: &Receive) -> Received {
        if !self.is_held && !self.makes(MailboxMistake::ReceivesByAnyone) {
            return Received::NotHolder;
        }
        let messages = self.mailbox.receive(receive);
        if self.makes(MailboxMistake::ReceivingTakesOut) {
            let mailbox = Arc::make_mut(self.mailbox);
            let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
            mailbox.pending.retain(|_, message| !ids.contains(&message.id));
            mailbox.places.retain(|id, _| !ids.contains(id));
        }
        Received::Messages(messages)
    }

    fn ack(&mut self, ack: &Ack) -> AckReply {
        if !self.is_held && !self.makes(MailboxMistake::AcksByAnyone) {
            return AckReply::NotHolder;
        }
        let mut bent = ack.clone();
        match self.mistake {
            Some(MailboxMistake::AcksForgotten) => bent.outcomes.clear(),
            Some(MailboxMistake::AcksInPart) => bent.outcomes.truncate(1),
            _ => {}
        }
        let (adds, moves) = (self.makes(MailboxMistake::AttemptsAdd), self.makes(MailboxMistake::FailedGoesLast));
        let mailbox = Arc::make_mut(self.mailbox);
        for (id, outcome) in &mut bent.outcomes {
            let (AckOutcome::Failed { attempt, .. }, Some((MessageState::Pending, place))) =
                (outcome, mailbox.places.get(id).copied())
            else {
                continue;
            };
            if adds && let Some(message) = mailbox.pending.get(&place) {
                *attempt = message.attempts + 1;
            }
            if moves && let Some(message) = mailbox.pending.remove(&place) {
                mailbox.last_place += 1;
                mailbox.places.insert(*id, (MessageState::Pending, mailbox.last_place));
                mailbox.pending.insert(mailbox.last_place, message);
            }
        }
        AckReply::Accepted { dropped: mailbox.ack(&bent).len() as u64 }
    }
}
