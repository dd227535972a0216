//! What players write to leaders, and what leaders do with it.

use std::sync::Arc;

use tenure_core::{ChannelName, Sender, Term};
use tenure_store::StoreError;
use tenure_store::mailbox::AckOutcome;
use tenure_store::{
    Ack, AckReply, Mailbox, MailboxPromises, Message, MessageId, MessageState, NewMessage, OrderingKey, Receive,
    Received, random_message_id,
};

use super::player::{Player, all};

/// The channel of those who do not care.
pub(super) const CHANNEL: &str = "refresh";

/// More than any property leaves in a mailbox, unless it says so.
pub(super) const ENOUGH: usize = 20_000;

impl Player {
    pub(super) fn mailbox(&self) -> &dyn Mailbox {
        self.store.mailbox().expect("a store whose test program says that it keeps messages has a mailbox")
    }

    pub(super) fn promises(&self) -> MailboxPromises {
        self.mailbox().promises()
    }

    /// A new message on the usual channel, from this candidate.
    pub(super) fn writes(&self, payload: &str) -> NewMessage {
        self.writes_on(CHANNEL, payload)
    }

    pub(super) fn writes_on(&self, name: &str, payload: &str) -> NewMessage {
        NewMessage {
            key: self.key.clone(),
            id: random_message_id(),
            channel: channel(name),
            sender: Sender::from(self.candidate.clone()),
            payload: Arc::from(payload),
        }
    }

    /// Sends messages, all of which must be accepted.
    pub(super) async fn sends_all(&self, batch: &[NewMessage]) {
        assert_eq!(all(self.mailbox().send(batch).await).len(), batch.len(), "one answer per message");
    }

    /// Sends one message on the usual channel.
    pub(super) async fn sends(&self, payload: &str) -> MessageId {
        let new_message = self.writes(payload);
        self.sends_all(std::slice::from_ref(&new_message)).await;
        new_message.id
    }

    /// Sends a message that must be refused.
    pub(super) async fn is_refused(&self, new_message: NewMessage) -> StoreError {
        let mut replies = self.mailbox().send(&[new_message]).await;
        assert_eq!(replies.len(), 1, "a batch of one has one answer");
        replies.remove(0).expect_err("the message should have been refused")
    }

    pub(super) fn as_receipt(&self, term: Term) -> Receive {
        let (key, nonce, channels) = (self.key.clone(), self.nonce, vec![channel(CHANNEL)]);
        Receive { key, nonce, term, channels, except: Vec::new(), limit: ENOUGH }
    }

    pub(super) async fn asks(&self, request: &Receive) -> Received {
        self.mailbox().receive(request).await.expect("an answer")
    }

    /// Asks, and must be given an answer as a leader.
    pub(super) async fn is_given(&self, request: &Receive) -> Vec<Message> {
        match self.asks(request).await {
            Received::Messages(messages) => messages,
            Received::NotHolder => panic!("{:?} should be given messages", self.candidate),
        }
    }

    /// Everything on the usual channel, as a leader.
    pub(super) async fn receives(&self, term: Term) -> Vec<Message> {
        self.is_given(&self.as_receipt(term)).await
    }

    pub(super) fn as_verdict(&self, term: Term, outcomes: Vec<(MessageId, AckOutcome)>) -> Ack {
        Ack { key: self.key.clone(), nonce: self.nonce, term, outcomes }
    }

    pub(super) async fn says(&self, request: &Ack) -> AckReply {
        self.mailbox().ack(request).await.expect("an answer")
    }

    /// Settles messages as a leader.
    pub(super) async fn acks(&self, term: Term, outcomes: Vec<(MessageId, AckOutcome)>) {
        let settled = self.says(&self.as_verdict(term, outcomes)).await;
        assert!(matches!(settled, AckReply::Accepted { .. }), "{:?} leads: {settled:?}", self.candidate);
    }

    /// The messages in a state.
    pub(super) async fn lists(&self, state: MessageState) -> Vec<Message> {
        self.mailbox().list(&self.key, state, ENOUGH).await.expect("a list")
    }

    pub(super) async fn requeues(&self, ids: Option<&[MessageId]>) -> u64 {
        self.mailbox().requeue(&self.key, ids).await.expect("an answer")
    }
}

pub(super) fn channel(name: &str) -> ChannelName {
    ChannelName::new(name).expect("a valid channel")
}

pub(super) fn line(name: &str, sender: &str) -> OrderingKey {
    OrderingKey { channel: channel(name), sender: Sender::new(sender).expect("a valid sender") }
}

pub(super) fn failed(attempt: u32, why: &str) -> AckOutcome {
    AckOutcome::Failed { attempt, why: why.to_owned() }
}

pub(super) fn dead_letter(attempt: u32, why: &str) -> AckOutcome {
    AckOutcome::DeadLettered { attempt, why: why.to_owned() }
}

pub(super) fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id).collect()
}

pub(super) fn payloads(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| &*message.payload).collect()
}
