//! The mailbox of the reference store.

use std::collections::BTreeMap;

use futures_util::future::{BoxFuture, ready};
use tenure_core::{ElectionName, Namespace};

use super::MemoryStore;
use crate::clock::unix_ms;
use crate::mailbox::{
    ASIDE_MAX, Fate, Mailbox, MailboxPromises, Message, MessageCount, MessageId, PAYLOAD_MAX, Post, Receive, Received,
    Settle, Settled, Shelf, WAITING_MAX,
};
use crate::{ElectionKey, Replies, StoreError};

const PROMISES: MailboxPromises = MailboxPromises {
    durable: true,
    payload_max: PAYLOAD_MAX,
    waiting_max: WAITING_MAX,
    statement: "Messages wait inside this process, and are forgotten when it ends.",
};

/// The messages to the leader of one election, kept in this process.
#[derive(Debug, Default)]
pub struct Messages {
    /// By the place in line.
    waiting: BTreeMap<u64, Message>,
    /// By the order in which they were set aside.
    aside: BTreeMap<u64, Message>,
    /// Where each of them lies.
    places: BTreeMap<MessageId, (Shelf, u64)>,
    last_place: u64,
}

impl Messages {
    /// Whether any waits.
    #[must_use]
    pub fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Puts one at the end of the line, unless it is known already.
    ///
    /// # Errors
    /// When its payload is too large, or too many wait.
    pub fn send(&mut self, post: &Post) -> Result<(), StoreError> {
        PROMISES.check_payload(&post.payload)?;
        if self.places.contains_key(&post.id) {
            return Ok(());
        }
        if self.waiting.len() >= PROMISES.waiting_max {
            return Err(PROMISES.full(&post.key));
        }
        let message = Message {
            id: post.id,
            channel: post.channel.clone(),
            sender: post.sender.clone(),
            payload: post.payload.clone(),
            sent_at_unix_ms: unix_ms(),
            attempts: 0,
            last_error: None,
        };
        self.put(Shelf::Waiting, message);
        Ok(())
    }

    /// The first ones that the request wants.
    #[must_use]
    pub fn receive(&self, request: &Receive) -> Vec<Message> {
        let is_wanted = |message: &&Message| {
            let is_held_back = |line: &crate::Line| line.channel == message.channel && line.sender == message.sender;
            request.channels.contains(&message.channel) && !request.except.iter().any(is_held_back)
        };
        self.waiting.values().filter(is_wanted).take(request.limit).cloned().collect()
    }

    /// What became of those that were received. Returns how many of those set aside were dropped.
    pub fn settle(&mut self, request: &Settle) -> u64 {
        for (id, fate) in &request.fates {
            let Some((Shelf::Waiting, place)) = self.places.get(id).copied() else { continue };
            match fate {
                Fate::Done => drop(self.take(Shelf::Waiting, place)),
                Fate::Failed { attempt, why } => {
                    if let Some(message) = self.waiting.get_mut(&place) {
                        fail(message, *attempt, why);
                    }
                }
                Fate::SetAside { attempt, why } => {
                    if let Some(mut message) = self.take(Shelf::Waiting, place) {
                        fail(&mut message, *attempt, why);
                        self.put(Shelf::Aside, message);
                    }
                }
            }
        }
        let mut dropped = 0;
        while self.aside.len() > ASIDE_MAX
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
            if let Some(message) = self.take(Shelf::Aside, place) {
                self.put(Shelf::Waiting, Message { attempts: 0, last_error: None, ..message });
                count += 1;
            }
        }
        count
    }

    /// The first ones on a shelf.
    pub fn list(&mut self, shelf: Shelf, limit: usize) -> Vec<Message> {
        self.shelf(shelf).values().take(limit).cloned().collect()
    }

    /// How many there are, if any are.
    #[must_use]
    pub fn count(&self, election: &ElectionName) -> Option<MessageCount> {
        let [waiting, aside] = [&self.waiting, &self.aside].map(|shelf| shelf.len() as u64);
        (waiting + aside > 0).then(|| MessageCount { election: election.clone(), waiting, aside })
    }

    fn put(&mut self, shelf: Shelf, message: Message) {
        self.last_place += 1;
        let place = self.last_place;
        self.places.insert(message.id, (shelf, place));
        self.shelf(shelf).insert(place, message);
    }

    fn take(&mut self, shelf: Shelf, place: u64) -> Option<Message> {
        let message = self.shelf(shelf).remove(&place)?;
        self.places.remove(&message.id);
        Some(message)
    }

    fn shelf(&mut self, shelf: Shelf) -> &mut BTreeMap<u64, Message> {
        match shelf {
            Shelf::Waiting => &mut self.waiting,
            Shelf::Aside => &mut self.aside,
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

    fn send<'a>(&'a self, batch: &'a [Post]) -> BoxFuture<'a, Replies<()>> {
        let step = |post: &Post| {
            self.with_kept(&post.key, |kept| kept.messages.send(post))?;
            self.hint_messages(&post.key);
            Ok(())
        };
        Box::pin(ready(batch.iter().map(step).collect()))
    }

    fn receive<'a>(&'a self, request: &'a Receive) -> BoxFuture<'a, Result<Received, StoreError>> {
        let held = self.if_held(&request.key, request.nonce, request.term, |kept| kept.messages.receive(request));
        Box::pin(ready(Ok(held.map_or(Received::NotHolder, Received::Messages))))
    }

    fn settle<'a>(&'a self, request: &'a Settle) -> BoxFuture<'a, Result<Settled, StoreError>> {
        let held = self.if_held(&request.key, request.nonce, request.term, |kept| kept.messages.settle(request));
        Box::pin(ready(Ok(held.map_or(Settled::NotHolder, |dropped| Settled::Accepted { dropped }))))
    }

    fn list<'a>(
        &'a self,
        key: &'a ElectionKey,
        shelf: Shelf,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Message>, StoreError>> {
        Box::pin(ready(Ok(self.with_kept(key, |kept| kept.messages.list(shelf, limit)))))
    }

    fn counts<'a>(
        &'a self,
        namespace: &'a Namespace,
        only: Option<&'a ElectionName>,
    ) -> BoxFuture<'a, Result<Vec<MessageCount>, StoreError>> {
        Box::pin(ready(Ok(self.message_counts(namespace, only))))
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
