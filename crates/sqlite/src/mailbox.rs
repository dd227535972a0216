//! The mailbox: messages to leaders, as stored by the database thread.

use std::collections::{BTreeSet, HashSet};

use tenure_store::mailbox::{
    Ack, AckReply, MAX_PAYLOAD, MAX_PENDING, Mailbox, MailboxPromises, Message, MessageCount, MessageId, MessageState,
    NewMessage, Receive, Received, SendReply,
};
use tenure_store::{ElectionKey, ElectionName, Namespace, Replies, StoreError, async_trait};

use super::SqliteStore;
use super::db_thread::DbThread;
use super::error::SqliteStoreError;
use super::message_rows::{self, MessageRows};
use super::transaction::{ElectionResult, Transaction};

const PROMISES: MailboxPromises = MailboxPromises {
    durable: true,
    max_payload: MAX_PAYLOAD,
    max_pending: MAX_PENDING,
    statement: "Messages wait in the file; once accepted they outlast crashes and power failures.",
};

#[async_trait]
impl Mailbox for SqliteStore {
    fn promises(&self) -> MailboxPromises {
        PROMISES
    }

    async fn send(&self, batch: &[NewMessage]) -> Replies<()> {
        self.run_batch(batch, DbThread::send).await
    }

    async fn receive(&self, request: &Receive) -> Result<Received, StoreError> {
        let request = request.clone();
        self.requests.run(move |db_thread| db_thread.receive(&request)).await?
    }

    async fn ack(&self, request: &Ack) -> Result<AckReply, StoreError> {
        let request = request.clone();
        self.requests.run(move |db_thread| db_thread.ack(&request)).await?
    }

    async fn list(&self, key: &ElectionKey, state: MessageState, limit: usize) -> Result<Vec<Message>, StoreError> {
        let key = key.clone();
        self.requests.run(move |db_thread| db_thread.messages(&key, state, limit)).await?
    }

    async fn counts(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError> {
        let (namespace, only) = (namespace.clone(), only.cloned());
        self.requests.run(move |db_thread| db_thread.message_counts(&namespace, only.as_ref())).await?
    }

    async fn requeue(&self, key: &ElectionKey, ids: Option<&[MessageId]>) -> Result<u64, StoreError> {
        let (key, ids) = (key.clone(), ids.map(|ids| ids.iter().copied().collect::<HashSet<_>>()));
        self.requests.run(move |db_thread| db_thread.requeue(&key, ids.as_ref())).await?
    }
}

impl DbThread {
    fn send(&mut self, batch: &[NewMessage]) -> Replies<()> {
        if batch.is_empty() {
            return Vec::new();
        }
        let answers = self.on_file(|db_thread, database| {
            db_thread.write_durably(database, |transaction| {
                let answers: Vec<_> = batch.iter().map(|new_message| transaction.send(new_message)).collect::<Result<
                    _,
                    SqliteStoreError,
                >>(
                )?;
                let accepted = batch.iter().zip(&answers).filter(|(_, answer)| matches!(answer, Ok(Ok(()))));
                let keys: BTreeSet<&ElectionKey> = accepted.map(|(new_message, _)| &new_message.key).collect();
                keys.into_iter().try_for_each(|key| transaction.call_leader(key))?;
                Ok(answers)
            })
        });
        self.replies(batch, answers).into_iter().map(|reply| reply.and_then(|accepted| accepted)).collect()
    }

    fn receive(&mut self, request: &Receive) -> Result<Received, StoreError> {
        let look = |transaction: &Transaction<'_>| transaction.receive(request);
        self.on_file(|db_thread, database| db_thread.read(database, look))
    }

    /// Nothing waits for the disk: if a power failure undoes it, the message is handled once more, and nothing is lost.
    fn ack(&mut self, request: &Ack) -> Result<AckReply, StoreError> {
        self.on_file(|db_thread, database| db_thread.write(database, |transaction| transaction.ack(request)))
    }

    fn messages(&mut self, key: &ElectionKey, state: MessageState, limit: usize) -> Result<Vec<Message>, StoreError> {
        self.on_file(|_, database| {
            database.read(|connection| {
                let messages = MessageRows::find(connection, key)
                    .and_then(|messages| messages.map(|messages| messages.in_state(state, limit)).transpose());
                Ok(messages.map_err(of_messages(key))?.unwrap_or_default())
            })
        })
    }

    fn message_counts(
        &mut self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError> {
        let counts =
            self.on_file(|_, database| database.read(|connection| message_rows::counts(connection, namespace, only)))?;
        Ok(counts.into_iter().map(|count| count.map_err(|fault| fault.about(self.path()))).collect())
    }

    fn requeue(&mut self, key: &ElectionKey, ids: Option<&HashSet<MessageId>>) -> Result<u64, StoreError> {
        self.on_file(|db_thread, database| {
            db_thread.write_durably(database, |transaction| transaction.requeue(key, ids))
        })
    }
}

impl Transaction<'_> {
    /// The innermost error is the refusal of this message by the mailbox.
    fn send(&self, new_message: &NewMessage) -> ElectionResult<Result<(), StoreError>> {
        if let Err(refusal) = PROMISES.check_payload(&new_message.payload) {
            return Ok(Ok(Err(refusal)));
        }
        let mut messages = match MessageRows::find_or_create(self.connection(), &new_message.key) {
            Err(fault) if fault.is_of_one_election() => return Ok(Err(of_messages(&new_message.key)(fault))),
            found => found?,
        };
        let pending = usize::try_from(messages.waiting()).unwrap_or(usize::MAX);
        let reply = PROMISES.limits().admit(messages.contains(new_message.id)?, pending);
        if reply == SendReply::Accepted {
            messages.add(new_message, self.unix_ms())?;
        }
        Ok(Ok(PROMISES.answer(new_message, reply)))
    }

    fn receive(&self, request: &Receive) -> Result<Received, SqliteStoreError> {
        if !self.is_held_by(&request.key, request.nonce, request.term)? {
            return Ok(Received::NotHolder);
        }
        let messages = MessageRows::find(self.connection(), &request.key)
            .and_then(|messages| messages.map(|messages| messages.wanted(request)).transpose());
        Ok(Received::Messages(messages.map_err(of_messages(&request.key))?.unwrap_or_default()))
    }

    fn ack(&self, request: &Ack) -> Result<AckReply, SqliteStoreError> {
        if !self.is_held_by(&request.key, request.nonce, request.term)? {
            return Ok(AckReply::NotHolder);
        }
        let dropped = MessageRows::find(self.connection(), &request.key)
            .and_then(|messages| messages.map(|mut messages| messages.ack(&request.outcomes)).transpose());
        let dropped = dropped.map_err(of_messages(&request.key))?.unwrap_or_default();
        for id in &dropped {
            log!(warn, %id, election = %request.key, "dropped a dead letter: there are too many");
        }
        Ok(AckReply::Accepted { dropped: dropped.len() as u64 })
    }

    fn requeue(&mut self, key: &ElectionKey, ids: Option<&HashSet<MessageId>>) -> Result<u64, SqliteStoreError> {
        let messages = MessageRows::find(self.connection(), key)?;
        let count = messages.map(|mut messages| messages.requeue(ids)).transpose()?.unwrap_or_default();
        if count > 0 {
            self.call_leader(key)?;
        }
        Ok(count)
    }
}

/// Names the election whose message rows make no sense.
fn of_messages(key: &ElectionKey) -> impl Fn(SqliteStoreError) -> SqliteStoreError {
    |fault| fault.in_record_of(key, "the table mailbox or message")
}
