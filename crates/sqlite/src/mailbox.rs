//! The mailbox: messages to leaders, as the worker thread keeps them.

use std::collections::{BTreeSet, HashSet};

use futures_util::future::BoxFuture;
use tenure_core::ElectionName;
use tenure_core::Namespace;
use tenure_store::mailbox::{
    Mailbox, MailboxPromises, Message, MessageCount, MessageId, PAYLOAD_MAX, Post, Receive, Received, Settle, Settled,
    Shelf, WAITING_MAX,
};
use tenure_store::{ElectionKey, Replies, StoreError};

use super::SqliteStore;
use super::desk::{Answer, Desk};
use super::error::Fault;
use super::messages::{self, Messages};
use super::worker::Worker;

const PROMISES: MailboxPromises = MailboxPromises {
    durable: true,
    payload_max: PAYLOAD_MAX,
    waiting_max: WAITING_MAX,
    statement: "Messages wait in the file; once accepted they outlast crashes and power failures.",
};

impl Mailbox for SqliteStore {
    fn promises(&self) -> MailboxPromises {
        PROMISES
    }

    fn send<'a>(&'a self, batch: &'a [Post]) -> BoxFuture<'a, Replies<()>> {
        self.run_batch(batch, Worker::send)
    }

    fn receive<'a>(&'a self, request: &'a Receive) -> BoxFuture<'a, Result<Received, StoreError>> {
        let request = request.clone();
        Box::pin(async move { self.jobs.run(move |worker| worker.receive(&request)).await? })
    }

    fn settle<'a>(&'a self, request: &'a Settle) -> BoxFuture<'a, Result<Settled, StoreError>> {
        let request = request.clone();
        Box::pin(async move { self.jobs.run(move |worker| worker.settle(&request)).await? })
    }

    fn list<'a>(
        &'a self,
        key: &'a ElectionKey,
        shelf: Shelf,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Message>, StoreError>> {
        let key = key.clone();
        Box::pin(async move { self.jobs.run(move |worker| worker.messages(&key, shelf, limit)).await? })
    }

    fn counts<'a>(
        &'a self,
        namespace: &'a Namespace,
        only: Option<&'a ElectionName>,
    ) -> BoxFuture<'a, Result<Vec<MessageCount>, StoreError>> {
        let (namespace, only) = (namespace.clone(), only.cloned());
        Box::pin(async move { self.jobs.run(move |worker| worker.message_counts(&namespace, only.as_ref())).await? })
    }

    fn requeue<'a>(
        &'a self,
        key: &'a ElectionKey,
        ids: Option<&'a [MessageId]>,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let (key, ids) = (key.clone(), ids.map(|ids| ids.iter().copied().collect::<HashSet<_>>()));
        Box::pin(async move { self.jobs.run(move |worker| worker.requeue(&key, ids.as_ref())).await? })
    }
}

impl Worker {
    fn send(&mut self, batch: &[Post]) -> Replies<()> {
        if batch.is_empty() {
            return Vec::new();
        }
        let answers = self.on_file(|worker, database| {
            worker.write_durably(database, |desk| {
                let answers: Vec<_> = batch.iter().map(|post| desk.send(post)).collect::<Result<_, Fault>>()?;
                let accepted = batch.iter().zip(&answers).filter(|(_, answer)| matches!(answer, Ok(Ok(()))));
                let keys: BTreeSet<&ElectionKey> = accepted.map(|(post, _)| &post.key).collect();
                keys.into_iter().try_for_each(|key| desk.call_leader(key))?;
                Ok(answers)
            })
        });
        self.replies(batch, answers).into_iter().map(|reply| reply.and_then(|accepted| accepted)).collect()
    }

    fn receive(&mut self, request: &Receive) -> Result<Received, StoreError> {
        let look = |desk: &Desk<'_>| desk.receive(request);
        self.on_file(|worker, database| worker.read(database, look))
    }

    /// Nothing waits for the disk: what a power failure makes undone is handled once more, and nothing is lost by it.
    fn settle(&mut self, request: &Settle) -> Result<Settled, StoreError> {
        self.on_file(|worker, database| worker.write(database, |desk| desk.settle(request)))
    }

    fn messages(&mut self, key: &ElectionKey, shelf: Shelf, limit: usize) -> Result<Vec<Message>, StoreError> {
        self.on_file(|_, database| {
            database.read(|connection| match Messages::find(connection, key)? {
                Some(messages) => messages.on_shelf(shelf, limit),
                None => Ok(Vec::new()),
            })
        })
    }

    fn message_counts(
        &mut self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Vec<MessageCount>, StoreError> {
        self.on_file(|_, database| database.read(|connection| messages::counts(connection, namespace, only)))
    }

    fn requeue(&mut self, key: &ElectionKey, ids: Option<&HashSet<MessageId>>) -> Result<u64, StoreError> {
        self.on_file(|worker, database| worker.write_durably(database, |desk| desk.requeue(key, ids)))
    }
}

impl Desk<'_> {
    /// The innermost error is the mailbox's refusal of this message.
    fn send(&self, post: &Post) -> Answer<Result<(), StoreError>> {
        if let Err(refusal) = PROMISES.check_payload(&post.payload) {
            return Ok(Ok(Err(refusal)));
        }
        let mut messages = match Messages::find_or_create(self.connection(), &post.key) {
            Err(fault) if fault.is_of_one_election() => return Ok(Err(fault)),
            found => found?,
        };
        if messages.contains(post.id)? {
            return Ok(Ok(Ok(())));
        }
        if messages.waiting() >= PROMISES.waiting_max as u64 {
            return Ok(Ok(Err(PROMISES.full(&post.key))));
        }
        messages.add(post, self.unix_ms())?;
        Ok(Ok(Ok(())))
    }

    fn receive(&self, request: &Receive) -> Result<Received, Fault> {
        if !self.is_held_by(&request.key, request.nonce, request.term)? {
            return Ok(Received::NotHolder);
        }
        let messages = Messages::find(self.connection(), &request.key)?;
        Ok(Received::Messages(messages.map(|messages| messages.wanted(request)).transpose()?.unwrap_or_default()))
    }

    fn settle(&self, request: &Settle) -> Result<Settled, Fault> {
        if !self.is_held_by(&request.key, request.nonce, request.term)? {
            return Ok(Settled::NotHolder);
        }
        let messages = Messages::find(self.connection(), &request.key)?;
        let dropped = messages.map(|mut messages| messages.settle(&request.fates)).transpose()?.unwrap_or_default();
        for id in &dropped {
            log!(warn, %id, election = %request.key, "dropped a message that was set aside: too many are");
        }
        Ok(Settled::Accepted { dropped: dropped.len() as u64 })
    }

    fn requeue(&mut self, key: &ElectionKey, ids: Option<&HashSet<MessageId>>) -> Result<u64, Fault> {
        let messages = Messages::find(self.connection(), key)?;
        let count = messages.map(|mut messages| messages.put_back(ids)).transpose()?.unwrap_or_default();
        if count > 0 {
            self.call_leader(key)?;
        }
        Ok(count)
    }
}
