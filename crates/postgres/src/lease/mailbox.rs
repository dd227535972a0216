//! The mailbox: messages to leaders, in a table.

use std::sync::Arc;

use tenure_store::mailbox::{
    Ack, AckOutcome, AckReply, ChannelName, MAX_DEAD_LETTERS, MAX_PAYLOAD, MAX_PENDING, Mailbox, MailboxPromises,
    Message, MessageCount, MessageId, MessageState, NewMessage, OrderingKey, Receive, Received, Sender,
};
use tenure_store::{ElectionKey, ElectionName, Namespace, Replies, StoreError, async_trait};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::super::connect::Parameters;
use super::super::error::PostgresStoreError;
use super::super::value::Bits;
use super::PostgresStore;
use super::leases::{LeaseInner, id, number, spread};
use super::reply::get;

const PROMISES: MailboxPromises = MailboxPromises {
    durable: true,
    max_payload: MAX_PAYLOAD,
    max_pending: MAX_PENDING,
    statement: "Messages wait in a table; once accepted they outlast crashes, but a failover to a standby that lags behind \
                can lose the last ones.",
};

#[async_trait]
impl Mailbox for PostgresStore {
    fn promises(&self) -> MailboxPromises {
        PROMISES
    }

    async fn send(&self, batch: &[NewMessage]) -> Replies<()> {
        self.inner.send(batch).await
    }

    async fn receive(&self, request: &Receive) -> Result<Received, StoreError> {
        self.inner.receive(request).await
    }

    async fn ack(&self, request: &Ack) -> Result<AckReply, StoreError> {
        self.inner.ack(request).await
    }

    async fn list(&self, key: &ElectionKey, state: MessageState, limit: usize) -> Result<Vec<Message>, StoreError> {
        self.inner.messages(key, state, limit).await
    }

    async fn counts(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError> {
        self.inner.message_counts(namespace, only).await
    }

    async fn requeue(&self, key: &ElectionKey, ids: Option<&[MessageId]>) -> Result<u64, StoreError> {
        self.inner.requeue(key, ids).await
    }
}

impl LeaseInner {
    async fn send(&self, batch: &[NewMessage]) -> Replies<()> {
        let mut replies: Replies<()> =
            batch.iter().map(|new_message| PROMISES.check_payload(&new_message.payload)).collect();
        let fits: Vec<usize> = (0..batch.len()).filter(|place| replies[*place].is_ok()).collect();
        if fits.is_empty() {
            return replies;
        }
        let new_messages = || fits.iter().map(|place| &batch[*place]);
        let elections: Vec<Bits> = new_messages().map(|new_message| id(&new_message.key)).collect();
        let ids: Vec<Bits> = new_messages().map(|new_message| Bits(new_message.id.to_bits())).collect();
        let channels: Vec<&str> = new_messages().map(|new_message| new_message.channel.as_str()).collect();
        let senders: Vec<&str> = new_messages().map(|new_message| new_message.sender.as_str()).collect();
        let payloads: Vec<&str> = new_messages().map(|new_message| &*new_message.payload).collect();
        let namespaces: Vec<&str> = new_messages().map(|new_message| new_message.key.namespace.as_str()).collect();
        let names: Vec<&str> = new_messages().map(|new_message| new_message.key.name.as_str()).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 8] = [
            (&elections, Type::UUID_ARRAY),
            (&ids, Type::UUID_ARRAY),
            (&channels, Type::TEXT_ARRAY),
            (&senders, Type::TEXT_ARRAY),
            (&payloads, Type::TEXT_ARRAY),
            (&(PROMISES.max_pending as i64), Type::INT8),
            (&namespaces, Type::TEXT_ARRAY),
            (&names, Type::TEXT_ARRAY),
        ];
        match self.ask_and_wake("send($1, $2, $3, $4, $5, $6, $7, $8)", &parameters, &elections).await {
            Ok(rows) => {
                let refused: Vec<i32> = rows.first().and_then(|row| row.try_get("send").ok()).unwrap_or_default();
                for place in refused.into_iter().filter_map(|place| usize::try_from(place - 1).ok()) {
                    if let Some(&position) = fits.get(place) {
                        replies[position] = Err(PROMISES.full(&batch[position].key));
                    }
                }
                replies
            }
            Err(error) => {
                let failed: Replies<()> = spread(Err(error), batch.len());
                replies.into_iter().zip(failed).map(|(reply, failure)| reply.and(failure)).collect()
            }
        }
    }

    async fn receive(&self, request: &Receive) -> Result<Received, StoreError> {
        let channels: Vec<&str> = request.channels.iter().map(ChannelName::as_str).collect();
        let except = |part: fn(&OrderingKey) -> &str| request.except.iter().map(part).collect::<Vec<&str>>();
        let (except_channels, except_senders) =
            (except(|line| line.channel.as_str()), except(|line| line.sender.as_str()));
        let parameters: [(&(dyn ToSql + Sync), Type); 7] = [
            (&id(&request.key), Type::UUID),
            (&Bits(request.nonce.to_bits()), Type::UUID),
            (&number(request.term.get()), Type::INT8),
            (&channels, Type::TEXT_ARRAY),
            (&except_channels, Type::TEXT_ARRAY),
            (&except_senders, Type::TEXT_ARRAY),
            (&limit(request.limit), Type::INT8),
        ];
        let rows = self
            .ask(&self.sql("SELECT {call}, * FROM {schema}.receive($1, $2, $3, $4, $5, $6, $7)"), &parameters)
            .await?;
        match rows.split_first() {
            None => Ok(Received::NotHolder),
            Some((_, rows)) => Ok(Received::Messages(self.read_messages(&request.key, rows)?)),
        }
    }

    async fn ack(&self, request: &Ack) -> Result<AckReply, StoreError> {
        let ids: Vec<Bits> = request.outcomes.iter().map(|(id, _)| Bits(id.to_bits())).collect();
        let (mut outcomes, mut attempts, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
        for (_, outcome) in &request.outcomes {
            let (word, attempt, why) = match outcome {
                AckOutcome::Done => ("done", 0, None),
                AckOutcome::Failed { attempt, why } => ("failed", *attempt, Some(printable(why))),
                // The function in the database knows it by this name.
                AckOutcome::DeadLettered { attempt, why } => ("aside", *attempt, Some(printable(why))),
            };
            outcomes.push(word);
            attempts.push(i32::try_from(attempt).unwrap_or(i32::MAX));
            reasons.push(why);
        }
        let parameters: [(&(dyn ToSql + Sync), Type); 8] = [
            (&id(&request.key), Type::UUID),
            (&Bits(request.nonce.to_bits()), Type::UUID),
            (&number(request.term.get()), Type::INT8),
            (&ids, Type::UUID_ARRAY),
            (&outcomes, Type::TEXT_ARRAY),
            (&attempts, Type::INT4_ARRAY),
            (&reasons, Type::TEXT_ARRAY),
            (&(MAX_DEAD_LETTERS as i64), Type::INT8),
        ];
        let rows =
            self.ask(&self.sql("SELECT {call}, {schema}.settle($1, $2, $3, $4, $5, $6, $7, $8)"), &parameters).await?;
        let dropped: Option<Vec<Bits>> = rows.first().and_then(|row| row.try_get("settle").ok()).unwrap_or_default();
        let Some(dropped) = dropped else { return Ok(AckReply::NotHolder) };
        for Bits(bits) in &dropped {
            let id = MessageId::from_bits(*bits);
            log!(warn, %id, election = %request.key, "dropped a dead letter: there are too many");
        }
        Ok(AckReply::Accepted { dropped: dropped.len() as u64 })
    }

    async fn messages(
        &self,
        key: &ElectionKey,
        state: MessageState,
        at_most: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let is_dead_letter = match state {
            MessageState::Pending => false,
            MessageState::DeadLetter => true,
        };
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&id(key), Type::UUID), (&is_dead_letter, Type::BOOL), (&limit(at_most), Type::INT8)];
        let rows = self.ask(&self.sql("SELECT {call}, * FROM {schema}.messages($1, $2, $3)"), &parameters).await?;
        self.read_messages(key, &rows)
    }

    async fn message_counts(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError> {
        let only = only.map(|name| id(&ElectionKey { namespace: namespace.clone(), name: name.clone() }));
        let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&namespace.as_str(), Type::TEXT), (&only, Type::UUID)];
        let rows = self.ask(&self.sql("SELECT {call}, * FROM {schema}.count_messages($1, $2)"), &parameters).await?;
        // Participants of another kind may have used names that nobody here can.
        let named = |row: &Row| Some((ElectionName::new(get::<&str>(row, "name").ok()?).ok()?, message_count(row)));
        let answer = |(election, count): (ElectionName, Result<(u64, u64), PostgresStoreError>)| {
            let key = ElectionKey { namespace: namespace.clone(), name: election.clone() };
            let (waiting, dead_letters) = count.map_err(|fault| self.tell(fault.in_record_of(&key, "mailbox")))?;
            Ok(MessageCount::new(election, waiting, dead_letters))
        };
        Ok(rows.iter().filter_map(named).map(answer).collect())
    }

    async fn requeue(&self, key: &ElectionKey, ids: Option<&[MessageId]>) -> Result<u64, StoreError> {
        let ids: Option<Vec<Bits>> = ids.map(|ids| ids.iter().map(|id| Bits(id.to_bits())).collect());
        let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&id(key), Type::UUID), (&ids, Type::UUID_ARRAY)];
        let rows = self.ask_and_wake("requeue($1, $2)", &parameters, &[id(key)]).await?;
        let count: Option<i64> = rows.first().and_then(|row| row.try_get("requeue").ok());
        Ok(count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default())
    }

    /// Calls a function, followed by a notification that wakes the leaders of these elections.
    async fn ask_and_wake(
        &self,
        function: &str,
        parameters: &Parameters<'_>,
        elections: &[Bits],
    ) -> Result<Vec<Row>, StoreError> {
        let wake = self.sql("SELECT {schema}.announce_messages($1)");
        let sql = self.sql(&format!("SELECT {{call}}, {{schema}}.{function}"));
        let woken: [(&(dyn ToSql + Sync), Type); 1] = [(&elections, Type::UUID_ARRAY)];
        self.ask_and_mention(&sql, parameters, &wake, &woken).await
    }

    fn read_messages(&self, key: &ElectionKey, rows: &[Row]) -> Result<Vec<Message>, StoreError> {
        let messages = rows.iter().map(message).collect::<Result<_, PostgresStoreError>>();
        messages.map_err(|fault| self.tell(fault.in_record_of(key, "message")))
    }
}

/// How many wait, and how many are dead letters.
fn message_count(row: &Row) -> Result<(u64, u64), PostgresStoreError> {
    let count = |column: &str| {
        let count: i64 = get(row, column)?;
        u64::try_from(count).map_err(|_| PostgresStoreError::Damage(format!("{column} is {count}")))
    };
    Ok((count("waiting")?, count("aside")?))
}

fn message(row: &Row) -> Result<Message, PostgresStoreError> {
    let (Bits(id), payload): (Bits, &str) = (get(row, "id")?, get(row, "payload")?);
    let (sent_at, attempts): (i64, i32) = (get(row, "sent_at_ms")?, get(row, "attempts")?);
    let name = |error: tenure_store::NameError| PostgresStoreError::Nonsense(error.to_string());
    Ok(Message {
        id: MessageId::from_bits(id),
        channel: ChannelName::new(get::<&str>(row, "channel")?).map_err(name)?,
        sender: Sender::new(get::<&str>(row, "sender")?).map_err(name)?,
        payload: Arc::from(payload),
        sent_at_unix_ms: u64::try_from(sent_at).unwrap_or_default(),
        attempts: u32::try_from(attempts).unwrap_or_default(),
        last_error: get(row, "last_error")?,
    })
}

pub(super) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A text on the server cannot hold a NUL, but an error of the application may.
pub(super) fn printable(why: &str) -> String {
    why.replace('\0', "\u{fffd}")
}
