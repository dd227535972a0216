//! The mailbox of the reference store.

use std::collections::BTreeMap;

use futures_util::future::{BoxFuture, ready};
use tenure_core::{ElectionName, Namespace};

use super::MemoryStore;
use crate::clock::unix_ms;
use crate::mailbox::{
    Ack, AckOutcome, AckReply, MAX_DEAD_LETTERS, MAX_PAYLOAD, MAX_PENDING, Mailbox, MailboxPromises, Message,
    MessageCount, MessageId, MessageState, NewMessage, Receive, Received,
};
use crate::{ElectionKey, Replies, StoreError};

const PROMISES: MailboxPromises = MailboxPromises {
    durable: true,
    max_payload: MAX_PAYLOAD,
    max_pending: MAX_PENDING,
    statement: "Messages wait inside this process, and are forgotten when it ends.",
};

/// The messages to the leader of one election, kept in this process.
#[derive(Debug, Default)]
pub struct MemoryMailbox {
    /// By the place in line.
    waiting: BTreeMap<u64, Message>,
    /// By the order in which they were set aside.
    aside: BTreeMap<u64, Message>,
    /// Where each of them lies.
    places: BTreeMap<MessageId, (MessageState, u64)>,
    last_place: u64,
}

impl MemoryMailbox {
    /// Whether any waits.
    #[must_use]
    pub fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Puts one at the end of the line, unless it is known already.
    ///
    /// # Errors
    /// When its payload is too large, or too many wait.
    pub fn send(&mut self, new_message: &NewMessage) -> Result<(), StoreError> {
        PROMISES.check_payload(&new_message.payload)?;
        if self.places.contains_key(&new_message.id) {
            return Ok(());
        }
        if self.waiting.len() >= PROMISES.max_pending {
            return Err(PROMISES.full(&new_message.key));
        }
        let message = Message {
            id: new_message.id,
            channel: new_message.channel.clone(),
            sender: new_message.sender.clone(),
            payload: new_message.payload.clone(),
            sent_at_unix_ms: unix_ms(),
            attempts: 0,
            last_error: None,
        };
        self.put(MessageState::Pending, message);
        Ok(())
    }

    /// The first ones that the request wants.
    #[must_use]
    pub fn receive(&self, request: &Receive) -> Vec<Message> {
        let is_wanted = |message: &&Message| {
            let is_held_back =
                |line: &crate::OrderingKey| line.channel == message.channel && line.sender == message.sender;
            request.channels.contains(&message.channel) && !request.except.iter().any(is_held_back)
        };
        self.waiting.values().filter(is_wanted).take(request.limit).cloned().collect()
    }

    /// What became of those that were received. Returns how many of those set aside were dropped.
    pub fn ack(&mut self, request: &Ack) -> u64 {
        for (id, outcome) in &request.outcomes {
            let Some((MessageState::Pending, place)) = self.places.get(id).copied() else { continue };
            match outcome {
                AckOutcome::Done => drop(self.take(MessageState::Pending, place)),
                AckOutcome::Failed { attempt, why } => {
                    if let Some(message) = self.waiting.get_mut(&place) {
                        fail(message, *attempt, why);
                    }
                }
                AckOutcome::DeadLettered { attempt, why } => {
                    if let Some(mut message) = self.take(MessageState::Pending, place) {
                        fail(&mut message, *attempt, why);
                        self.put(MessageState::DeadLetter, message);
                    }
                }
            }
        }
        let mut dropped = 0;
        while self.aside.len() > MAX_DEAD_LETTERS
            && let Some((_, message)) = self.aside.pop_first()
        {
            log!(warn, id = %message.id, "dropped a message that was set aside: too many are");
            self.places.remove(&message.id);
            dropped += 1;
        }
        dropped
    }

    /// Puts these that were set aside, or all, back at the end of the line. Returns how many.
    pub fn requeue(&mut self, ids: Option<&[MessageId]>) -> u64 {
        let wanted = |message: &Message| ids.is_none_or(|ids| ids.contains(&message.id));
        let places: Vec<u64> =
            self.aside.iter().filter(|(_, message)| wanted(message)).map(|(place, _)| *place).collect();
        let mut count = 0;
        for place in places {
            if let Some(message) = self.take(MessageState::DeadLetter, place) {
                self.put(MessageState::Pending, Message { attempts: 0, last_error: None, ..message });
                count += 1;
            }
        }
        count
    }

    /// The first ones in a state.
    pub fn list(&mut self, state: MessageState, limit: usize) -> Vec<Message> {
        self.state(state).values().take(limit).cloned().collect()
    }

    /// How many there are, if any are.
    #[must_use]
    pub fn count(&self, election: &ElectionName) -> Option<MessageCount> {
        let [waiting, aside] = [&self.waiting, &self.aside].map(|state| state.len() as u64);
        (waiting + aside > 0).then(|| MessageCount { election: election.clone(), waiting, aside })
    }

    fn put(&mut self, state: MessageState, message: Message) {
        self.last_place += 1;
        let place = self.last_place;
        self.places.insert(message.id, (state, place));
        self.state(state).insert(place, message);
    }

    fn take(&mut self, state: MessageState, place: u64) -> Option<Message> {
        let message = self.state(state).remove(&place)?;
        self.places.remove(&message.id);
        Some(message)
    }

    fn state(&mut self, state: MessageState) -> &mut BTreeMap<u64, Message> {
        match state {
            MessageState::Pending => &mut self.waiting,
            MessageState::DeadLetter => &mut self.aside,
        }
    }
}

/// Told twice, it counts once.
fn fail(message: &mut Message, attempt: u32, why: &str) {
    message.attempts = message.attempts.max(attempt);
    message.last_error = Some(why.to_owned());
}

impl Mailbox for MemoryStore {
    fn promises(&self) -> MailboxPromises {
        PROMISES
    }

    fn send<'a>(&'a self, batch: &'a [NewMessage]) -> BoxFuture<'a, Replies<()>> {
        let step = |new_message: &NewMessage| {
            self.with_kept(&new_message.key, |kept| kept.messages.send(new_message))?;
            self.hint_messages(&new_message.key);
            Ok(())
        };
        Box::pin(ready(batch.iter().map(step).collect()))
    }

    fn receive<'a>(&'a self, request: &'a Receive) -> BoxFuture<'a, Result<Received, StoreError>> {
        let held = self.if_held(&request.key, request.nonce, request.term, |kept| kept.messages.receive(request));
        Box::pin(ready(Ok(held.map_or(Received::NotHolder, Received::Messages))))
    }

    fn ack<'a>(&'a self, request: &'a Ack) -> BoxFuture<'a, Result<AckReply, StoreError>> {
        let held = self.if_held(&request.key, request.nonce, request.term, |kept| kept.messages.ack(request));
        Box::pin(ready(Ok(held.map_or(AckReply::NotHolder, |dropped| AckReply::Accepted { dropped }))))
    }

    fn list<'a>(
        &'a self,
        key: &'a ElectionKey,
        state: MessageState,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Message>, StoreError>> {
        Box::pin(ready(Ok(self.with_kept(key, |kept| kept.messages.list(state, limit)))))
    }

    fn counts<'a>(
        &'a self,
        namespace: &'a Namespace,
        only: Option<&'a ElectionName>,
    ) -> BoxFuture<'a, Result<Replies<MessageCount>, StoreError>> {
        Box::pin(ready(Ok(self.message_counts(namespace, only).into_iter().map(Ok).collect())))
    }

    fn requeue<'a>(
        &'a self,
        key: &'a ElectionKey,
        ids: Option<&'a [MessageId]>,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let count = self.with_kept(key, |kept| kept.messages.requeue(ids));
        if count > 0 {
            self.hint_messages(key);
        }
        Box::pin(ready(Ok(count)))
    }
}
