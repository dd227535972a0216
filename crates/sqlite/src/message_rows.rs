//! Reads and writes the rows of messages.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row, params};
use tenure_store::mailbox::{
    AckOutcome, MAX_DEAD_LETTERS, Message, MessageCount, MessageId, MessageState, NewMessage, Receive, Settlement,
};
use tenure_store::{ChannelName, ElectionKey, ElectionName, Namespace, Sender};

use super::error::SqliteStoreError;
use super::value::{from_u64, nonsense, to_message_id, to_u32, to_u64};

const FIND: &str = "SELECT place, is_aside, attempts FROM message WHERE mailbox = ?1 AND id = ?2";

/// Reads messages.
macro_rules! select_messages {
    ($which:literal) => {
        concat!(
            "SELECT id, channel, sender, payload, sent_at_unix_ms, attempts, last_error FROM message WHERE ",
            $which
        )
    };
}

/// The messages of one election.
pub(super) struct MessageRows<'a> {
    connection: &'a Connection,
    mailbox: i64,
    waiting: u64,
}

impl<'a> MessageRows<'a> {
    /// The messages of an election that was ever sent any.
    pub(super) fn find(connection: &'a Connection, key: &ElectionKey) -> Result<Option<Self>, SqliteStoreError> {
        let mut statement =
            connection.prepare_cached("SELECT id, waiting FROM mailbox WHERE namespace = ?1 AND name = ?2")?;
        let names = [key.namespace.as_str(), key.name.as_str()];
        let row = statement.query_row(names, |row| Ok((row.get("id")?, row.get("waiting")?))).optional()?;
        row.map(|(mailbox, waiting)| Ok(Self { connection, mailbox, waiting: to_u64(waiting)? })).transpose()
    }

    pub(super) fn find_or_create(connection: &'a Connection, key: &ElectionKey) -> Result<Self, SqliteStoreError> {
        if let Some(found) = Self::find(connection, key)? {
            return Ok(found);
        }
        let mut statement =
            connection.prepare_cached("INSERT INTO mailbox (namespace, name, waiting) VALUES (?1, ?2, 0)")?;
        let mailbox = statement.insert([key.namespace.as_str(), key.name.as_str()])?;
        Ok(Self { connection, mailbox, waiting: 0 })
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Whether it waits or is a dead letter.
    pub(super) fn contains(&self, id: MessageId) -> Result<bool, SqliteStoreError> {
        let mut statement = self.connection.prepare_cached(FIND)?;
        Ok(statement.exists(params![self.mailbox, from_id(id)])?)
    }

    /// Its place, whether it waits or is a dead letter, and how many attempts have failed; `None` when it is not there.
    fn standing(&self, id: MessageId) -> Result<Option<(i64, MessageState, u32)>, SqliteStoreError> {
        let mut statement = self.connection.prepare_cached(FIND)?;
        let mut rows = statement.query_and_then(params![self.mailbox, from_id(id)], |row| {
            let state = if row.get("is_aside")? { MessageState::DeadLetter } else { MessageState::Pending };
            Ok::<_, SqliteStoreError>((row.get("place")?, state, to_u32(row.get("attempts")?)?))
        })?;
        rows.next().transpose()
    }

    /// Puts a message at the end of the line.
    pub(super) fn add(&mut self, new_message: &NewMessage, unix_ms: u64) -> Result<(), SqliteStoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO message (mailbox, id, is_aside, channel, sender, sent_at_unix_ms, attempts, payload)
             VALUES (?1, ?2, 0, ?3, ?4, ?5, 0, ?6)",
        )?;
        insert.execute(params![
            self.mailbox,
            from_id(new_message.id),
            new_message.channel.as_str(),
            new_message.sender.as_str(),
            from_u64(unix_ms),
            &*new_message.payload,
        ])?;
        self.now_waiting(self.waiting.saturating_add(1))
    }

    /// The first messages that the request wants.
    pub(super) fn wanted(&self, request: &Receive) -> Result<Vec<Message>, SqliteStoreError> {
        let channels: HashSet<&str> = request.channels.iter().map(ChannelName::as_str).collect();
        let held_back: HashSet<(&str, &str)> =
            request.except.iter().map(|line| (line.channel.as_str(), line.sender.as_str())).collect();
        let mut line = self.connection.prepare_cached(
            "SELECT place, channel, sender FROM message WHERE mailbox = ?1 AND is_aside = 0 ORDER BY place",
        )?;
        let mut message_at = self.connection.prepare_cached(select_messages!("place = ?1"))?;
        let mut rows = line.query([self.mailbox])?;
        let mut wanted = Vec::new();
        while wanted.len() < request.limit
            && let Some(row) = rows.next()?
        {
            let channel = row.get_ref("channel")?.as_str().map_err(rusqlite::Error::from)?;
            let sender = row.get_ref("sender")?.as_str().map_err(rusqlite::Error::from)?;
            if channels.contains(channel) && !held_back.contains(&(channel, sender)) {
                let place: i64 = row.get("place")?;
                wanted.extend(message_at.query_and_then([place], message_in)?.next().transpose()?);
            }
        }
        Ok(wanted)
    }

    pub(super) fn in_state(&self, state: MessageState, limit: usize) -> Result<Vec<Message>, SqliteStoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut statement = self
            .connection
            .prepare_cached(select_messages!("mailbox = ?1 AND is_aside = ?2 ORDER BY place LIMIT ?3"))?;
        statement.query_and_then(params![self.mailbox, state == MessageState::DeadLetter, limit], message_in)?.collect()
    }

    /// Returns the messages that were dropped because there were too many dead letters.
    pub(super) fn ack(&mut self, outcomes: &[(MessageId, AckOutcome)]) -> Result<Vec<MessageId>, SqliteStoreError> {
        let statement = |sql| self.connection.prepare_cached(sql);
        let mut left: u64 = 0;
        let mut is_any_dead = false;
        for (id, outcome) in outcomes {
            let Some((place, state, attempts)) = self.standing(*id)? else { continue };
            match outcome.settle(state, attempts) {
                None => {}
                Some(Settlement::Removed) => {
                    statement("DELETE FROM message WHERE place = ?1")?.execute([place])?;
                    left += 1;
                }
                Some(Settlement::Kept { attempts, why }) => {
                    statement("UPDATE message SET attempts = ?2, last_error = ?3 WHERE place = ?1")?
                        .execute(params![place, attempts, why])?;
                }
                Some(Settlement::DeadLettered { attempts, why }) => {
                    statement(
                        "UPDATE message SET is_aside = 1, place = (SELECT max(place) + 1 FROM message), attempts = ?2,
                         last_error = ?3 WHERE place = ?1",
                    )?
                    .execute(params![place, attempts, why])?;
                    left += 1;
                    is_any_dead = true;
                }
            }
        }
        if left > 0 {
            self.now_waiting(self.waiting.saturating_sub(left))?;
        }
        if is_any_dead { self.trim() } else { Ok(Vec::new()) }
    }

    /// Puts dead letters at the end of the line. Returns how many.
    pub(super) fn requeue(&mut self, ids: Option<&HashSet<MessageId>>) -> Result<u64, SqliteStoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT place, id FROM message WHERE mailbox = ?1 AND is_aside = 1 ORDER BY place")?;
        let rows = statement.query_and_then([self.mailbox], |row| {
            Ok((row.get::<_, i64>("place")?, to_message_id(&row.get::<_, Vec<u8>>("id")?)?))
        })?;
        let dead_letters: Vec<(i64, MessageId)> = rows.collect::<Result<_, SqliteStoreError>>()?;
        let mut to_the_end = self.connection.prepare_cached(
            "UPDATE message SET is_aside = 0, place = (SELECT max(place) + 1 FROM message), attempts = 0, last_error = NULL
             WHERE place = ?1",
        )?;
        let mut count = 0;
        for (place, _) in dead_letters.iter().filter(|(_, id)| ids.is_none_or(|ids| ids.contains(id))) {
            to_the_end.execute([place])?;
            count += 1;
        }
        if count > 0 {
            self.now_waiting(self.waiting.saturating_add(count))?;
        }
        Ok(count)
    }

    fn trim(&self) -> Result<Vec<MessageId>, SqliteStoreError> {
        let kept = i64::try_from(MAX_DEAD_LETTERS).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(
            "DELETE FROM message
             WHERE mailbox = ?1 AND is_aside = 1 AND place <=
                 (SELECT place FROM message WHERE mailbox = ?1 AND is_aside = 1 ORDER BY place DESC LIMIT 1 OFFSET ?2)
             RETURNING id",
        )?;
        let dropped =
            statement.query_and_then([self.mailbox, kept], |row| to_message_id(&row.get::<_, Vec<u8>>(0)?))?;
        dropped.collect()
    }

    fn now_waiting(&mut self, waiting: u64) -> Result<(), SqliteStoreError> {
        self.waiting = waiting;
        let mut statement = self.connection.prepare_cached("UPDATE mailbox SET waiting = ?2 WHERE id = ?1")?;
        statement.execute([self.mailbox, from_u64(waiting)])?;
        Ok(())
    }
}

/// How many messages this election has, or each of the namespace that has any.
pub(super) fn counts(
    connection: &Connection,
    namespace: &Namespace,
    only: Option<&ElectionName>,
) -> Result<Vec<Result<MessageCount, SqliteStoreError>>, SqliteStoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT name, waiting,
             (SELECT count(*) FROM message WHERE message.mailbox = mailbox.id AND is_aside = 1) AS dead_letters
         FROM mailbox WHERE namespace = ?1 AND (?2 IS NULL OR name = ?2)
             AND EXISTS (SELECT 1 FROM message WHERE message.mailbox = mailbox.id) ORDER BY name",
    )?;
    let mut rows = statement.query(params![namespace.as_str(), only.map(ElectionName::as_str)])?;
    let mut counts = Vec::new();
    while let Some(row) = rows.next()? {
        // What is no name cannot be asked for by it, and hides no other.
        let Ok(election) = ElectionName::new(row.get::<_, String>("name")?) else { continue };
        let key = ElectionKey { namespace: namespace.clone(), name: election.clone() };
        let count =
            |column: &str| to_u64(row.get(column)?).map_err(|fault| fault.in_record_of(&key, "the table mailbox"));
        let counted = count("waiting").and_then(|waiting| Ok((waiting, count("dead_letters")?)));
        counts.push(counted.map(|(waiting, dead_letters)| MessageCount::new(election, waiting, dead_letters)));
    }
    Ok(counts)
}

fn message_in(row: &Row<'_>) -> Result<Message, SqliteStoreError> {
    Ok(Message {
        id: to_message_id(&row.get::<_, Vec<u8>>("id")?)?,
        channel: ChannelName::new(row.get::<_, String>("channel")?).map_err(|error| nonsense(&error.to_string()))?,
        sender: Sender::new(row.get::<_, String>("sender")?).map_err(|error| nonsense(&error.to_string()))?,
        payload: row.get("payload")?,
        sent_at_unix_ms: to_u64(row.get("sent_at_unix_ms")?)?,
        attempts: to_u32(row.get("attempts")?)?,
        last_error: row.get("last_error")?,
    })
}

fn from_id(id: MessageId) -> [u8; 16] {
    id.to_bits().to_be_bytes()
}
