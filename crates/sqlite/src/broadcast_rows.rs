//! Reads and writes the rows of broadcasts.

use std::collections::BTreeSet;

use rusqlite::{Connection, Row, params};
use tenure_store::record::ProcessToken;
use tenure_store::{Broadcast, ChannelName, ElectionKey, ElectionName, Instant, Namespace, Sender};

use super::error::SqliteStoreError;
use super::value::{from_instant, from_process, nonsense, to_message_id, to_process};

/// A listener that has not read a broadcast by then is away.
const KEPT_FOR_NS: u64 = 60_000_000_000;
/// The maximum number kept, however fast they come.
const MAX_KEPT: i64 = 1_000;

/// Stores a broadcast for its listeners, and returns them; stores nothing if there are none.
pub(super) fn add(
    connection: &Connection,
    broadcast: &Broadcast,
    now: Instant,
) -> Result<Vec<ProcessToken>, SqliteStoreError> {
    let (namespace, name) = (broadcast.key.namespace.as_str(), broadcast.key.name.as_str());
    let mut statement = connection.prepare_cached("SELECT process FROM listener WHERE namespace = ?1 AND name = ?2")?;
    let listeners = statement.query_and_then([namespace, name], |row| to_process(&row.get::<_, Vec<u8>>(0)?))?;
    let listeners: Vec<ProcessToken> = listeners.collect::<Result<_, SqliteStoreError>>()?;
    if !listeners.is_empty() {
        let mut insert = connection.prepare_cached(
            "INSERT INTO broadcast (namespace, name, said_at_ns, id, channel, sender, payload)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        insert.execute(params![
            namespace,
            name,
            from_instant(now),
            broadcast.id.to_bits().to_be_bytes(),
            broadcast.channel.as_str(),
            broadcast.sender.as_str(),
            &*broadcast.payload,
        ])?;
    }
    Ok(listeners)
}

/// Removes broadcasts that are too old or too many.
pub(super) fn trim(connection: &Connection, now: Instant) -> Result<(), SqliteStoreError> {
    let oldest = Instant::from_nanos(now.as_nanos().saturating_sub(KEPT_FOR_NS));
    let mut statement = connection.prepare_cached(
        "DELETE FROM broadcast
         WHERE said_at_ns < ?1 OR number <= (SELECT max(seq) FROM sqlite_sequence WHERE name = 'broadcast') - ?2",
    )?;
    statement.execute([from_instant(oldest), MAX_KEPT])?;
    Ok(())
}

/// The number of the latest broadcast, whether or not it is still stored.
pub(super) fn last(connection: &Connection) -> Result<i64, SqliteStoreError> {
    let mut statement =
        connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'broadcast'")?;
    Ok(statement.query_row((), |row| row.get(0))?)
}

/// The broadcasts to these elections after that number, and the number of the last one.
pub(super) fn after(
    connection: &Connection,
    number: i64,
    elections: &BTreeSet<ElectionKey>,
) -> Result<(Vec<Broadcast>, i64), SqliteStoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT number, namespace, name, id, channel, sender, payload FROM broadcast WHERE number > ?1 ORDER BY number",
    )?;
    let mut rows = statement.query([number])?;
    let (mut said, mut last) = (Vec::new(), number);
    while let Some(row) = rows.next()? {
        last = row.get("number")?;
        match key_in(row) {
            Ok(key) if elections.contains(&key) => match broadcast_in(row, key) {
                Err(fault) if fault.is_of_one_election() => {}
                broadcast => said.push(broadcast?),
            },
            Err(fault) if !fault.is_of_one_election() => return Err(fault),
            // It is for others, or nobody can have said it.
            Ok(_) | Err(_) => {}
        }
    }
    Ok((said, last))
}

/// Records that a process listens to an election from now on.
pub(super) fn listen(
    connection: &Connection,
    key: &ElectionKey,
    process: ProcessToken,
) -> Result<(), SqliteStoreError> {
    let insert = "INSERT OR IGNORE INTO listener (namespace, name, process) VALUES (?1, ?2, ?3)";
    execute(connection, insert, key, process)
}

/// Records that a process no longer listens to an election.
pub(super) fn unlisten(
    connection: &Connection,
    key: &ElectionKey,
    process: ProcessToken,
) -> Result<(), SqliteStoreError> {
    let delete = "DELETE FROM listener WHERE namespace = ?1 AND name = ?2 AND process = ?3";
    execute(connection, delete, key, process)
}

fn execute(
    connection: &Connection,
    sql: &str,
    key: &ElectionKey,
    process: ProcessToken,
) -> Result<(), SqliteStoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.execute(params![key.namespace.as_str(), key.name.as_str(), from_process(process)])?;
    Ok(())
}

fn key_in(row: &Row<'_>) -> Result<ElectionKey, SqliteStoreError> {
    let namespace = Namespace::new(row.get::<_, String>("namespace")?).map_err(|error| nonsense(&error.to_string()))?;
    let name = ElectionName::new(row.get::<_, String>("name")?).map_err(|error| nonsense(&error.to_string()))?;
    Ok(ElectionKey { namespace, name })
}

fn broadcast_in(row: &Row<'_>, key: ElectionKey) -> Result<Broadcast, SqliteStoreError> {
    Ok(Broadcast {
        key,
        id: to_message_id(&row.get::<_, Vec<u8>>("id")?)?,
        channel: ChannelName::new(row.get::<_, String>("channel")?).map_err(|error| nonsense(&error.to_string()))?,
        sender: Sender::new(row.get::<_, String>("sender")?).map_err(|error| nonsense(&error.to_string()))?,
        payload: row.get("payload")?,
    })
}
