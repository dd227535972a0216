//! The rules of a mailbox: which messages are accepted, which are given to a leader, and what its word does to them.

use std::collections::BTreeMap;

use crate::id::ElectionName;
use crate::messages::{
    Ack, AckOutcome, Message, MessageCount, MessageId, MessageState, NewMessage, OrderingKey, Receive,
};

/// The largest payload, in bytes of JSON text. A store may keep less.
pub const MAX_PAYLOAD: usize = 64 * 1024;

/// How many messages may wait per election. A store may keep fewer.
pub const MAX_PENDING: usize = 10_000;

/// How many dead letters are kept per election. Beyond it the oldest are dropped.
pub const MAX_DEAD_LETTERS: usize = 1_000;

/// How much a mailbox takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailboxLimits {
    /// The largest payload, in bytes.
    pub max_payload: usize,
    /// How many messages may wait per election.
    pub max_pending: usize,
}

impl Default for MailboxLimits {
    fn default() -> Self {
        Self { max_payload: MAX_PAYLOAD, max_pending: MAX_PENDING }
    }
}

impl MailboxLimits {
    /// Whether a payload is small enough.
    #[must_use]
    pub const fn fits(&self, payload: &str) -> bool {
        payload.len() <= self.max_payload
    }

    /// What becomes of a message whose payload fits, if its id is or is not known, and so many wait. What is known makes no
    /// second copy, and is no error, not even when there is no room for another.
    #[must_use]
    pub const fn admit(&self, is_known: bool, pending: usize) -> SendReply {
        if is_known {
            SendReply::Known
        } else if pending < self.max_pending {
            SendReply::Accepted
        } else {
            SendReply::Full
        }
    }
}

/// What a mailbox says to a message that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SendReply {
    /// It waits at the end of the line.
    Accepted,
    /// It waits already, or is a dead letter. Nothing was changed.
    Known,
    /// Too many wait. Nothing was changed.
    Full,
    /// Its payload is too large. Nothing was changed.
    TooLarge,
}

/// What the word of a leader does to a message that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement<'a> {
    /// It is removed.
    Removed,
    /// It stays where it is in line.
    Kept {
        /// How many attempts have failed by now.
        attempts: u32,
        /// Why the last one did.
        why: &'a str,
    },
    /// It is taken out of the line, and is the last of the dead letters.
    DeadLettered {
        /// How many attempts have failed by now.
        attempts: u32,
        /// Why the last one did.
        why: &'a str,
    },
}

impl AckOutcome {
    /// What it does to a message of which so many attempts have failed. A message that does not wait is passed over. An
    /// attempt that is told twice counts once.
    #[must_use]
    pub fn settle(&self, state: MessageState, attempts: u32) -> Option<Settlement<'_>> {
        match (state, self) {
            (MessageState::DeadLetter, _) => None,
            (MessageState::Pending, Self::Done) => Some(Settlement::Removed),
            (MessageState::Pending, Self::Failed { attempt, why }) => {
                Some(Settlement::Kept { attempts: attempts.max(*attempt), why })
            }
            (MessageState::Pending, Self::DeadLettered { attempt, why }) => {
                Some(Settlement::DeadLettered { attempts: attempts.max(*attempt), why })
            }
        }
    }
}

/// The messages to the leader of one election, for stores that decide in their own process. Whether the sender of a receive or
/// an ack holds the lease is decided by the [record](crate::store_rules::record::Record) of the election, in the same atomic step.
#[derive(Debug, Clone, Default)]
pub struct MailboxRecord {
    /// Those that wait, by their place in line.
    pub pending: BTreeMap<u64, Message>,
    /// The dead letters, by the order in which they became such.
    pub dead_letters: BTreeMap<u64, Message>,
    /// Where each of them is.
    pub places: BTreeMap<MessageId, (MessageState, u64)>,
    /// The last place that was given away.
    pub last_place: u64,
}

impl MailboxRecord {
    /// Puts a message at the end of the line, unless it is known already.
    pub fn send(&mut self, new_message: &NewMessage, limits: MailboxLimits, unix_ms: u64) -> SendReply {
        if !limits.fits(&new_message.payload) {
            return SendReply::TooLarge;
        }
        let reply = limits.admit(self.places.contains_key(&new_message.id), self.pending.len());
        if reply == SendReply::Accepted {
            let message = Message {
                id: new_message.id,
                channel: new_message.channel.clone(),
                sender: new_message.sender.clone(),
                payload: new_message.payload.clone(),
                sent_at_unix_ms: unix_ms,
                attempts: 0,
                last_error: None,
            };
            self.put(MessageState::Pending, message);
        }
        reply
    }

    /// The first ones that the request wants. They stay in line.
    #[must_use]
    pub fn receive(&self, request: &Receive) -> Vec<Message> {
        let is_wanted = |message: &&Message| {
            let is_of = |line: &OrderingKey| line.channel == message.channel && line.sender == message.sender;
            request.channels.contains(&message.channel) && !request.except.iter().any(is_of)
        };
        self.pending.values().filter(is_wanted).take(request.limit).cloned().collect()
    }

    /// Writes down what became of messages, all of it. Returns the older dead letters that were dropped to make room.
    pub fn ack(&mut self, request: &Ack) -> Vec<MessageId> {
        for (id, outcome) in &request.outcomes {
            let Some((state, place)) = self.places.get(id).copied() else { continue };
            let Some(message) = self.of_state(state).get_mut(&place) else { continue };
            match outcome.settle(state, message.attempts) {
                None => {}
                Some(Settlement::Removed) => drop(self.take(state, place)),
                Some(Settlement::Kept { attempts, why }) => fail(message, attempts, why),
                Some(Settlement::DeadLettered { attempts, why }) => {
                    fail(message, attempts, why);
                    if let Some(message) = self.take(state, place) {
                        self.put(MessageState::DeadLetter, message);
                    }
                }
            }
        }
        self.drop_oldest_dead_letters()
    }

    /// Puts these dead letters, or all, back at the end of the line, as if they had never been tried. Returns how many.
    pub fn requeue(&mut self, ids: Option<&[MessageId]>) -> u64 {
        let wanted = |message: &Message| ids.is_none_or(|ids| ids.contains(&message.id));
        let places: Vec<u64> =
            self.dead_letters.iter().filter(|(_, message)| wanted(message)).map(|(place, _)| *place).collect();
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
    #[must_use]
    pub fn list(&self, state: MessageState, limit: usize) -> Vec<Message> {
        let messages = match state {
            MessageState::Pending => &self.pending,
            MessageState::DeadLetter => &self.dead_letters,
        };
        messages.values().take(limit).cloned().collect()
    }

    /// How many there are, if any are.
    #[must_use]
    pub fn count(&self, election: &ElectionName) -> Option<MessageCount> {
        let [waiting, dead_letters] = [&self.pending, &self.dead_letters].map(|messages| messages.len() as u64);
        (waiting + dead_letters > 0).then(|| MessageCount { election: election.clone(), waiting, dead_letters })
    }

    fn drop_oldest_dead_letters(&mut self) -> Vec<MessageId> {
        let mut dropped = Vec::new();
        while self.dead_letters.len() > MAX_DEAD_LETTERS
            && let Some((_, message)) = self.dead_letters.pop_first()
        {
            self.places.remove(&message.id);
            dropped.push(message.id);
        }
        dropped
    }

    fn put(&mut self, state: MessageState, message: Message) {
        self.last_place += 1;
        let place = self.last_place;
        self.places.insert(message.id, (state, place));
        self.of_state(state).insert(place, message);
    }

    fn take(&mut self, state: MessageState, place: u64) -> Option<Message> {
        let message = self.of_state(state).remove(&place)?;
        self.places.remove(&message.id);
        Some(message)
    }

    fn of_state(&mut self, state: MessageState) -> &mut BTreeMap<u64, Message> {
        match state {
            MessageState::Pending => &mut self.pending,
            MessageState::DeadLetter => &mut self.dead_letters,
        }
    }
}

fn fail(message: &mut Message, attempts: u32, why: &str) {
    message.attempts = attempts;
    message.last_error = Some(why.to_owned());
}

#[cfg(test)]
mod tests;
