//! The history of each election.

use rusqlite::{Connection, params};
use tenure_store::{ElectionKey, Transition};

use super::error::SqliteStoreError;
use super::value::{from_u64, to_candidate, to_change, to_term, to_u64};

/// The number of lines kept for each election.
const KEPT: i64 = 1_000;

/// Adds to the history of an election and forgets its oldest lines.
pub(super) fn add(connection: &Connection, election: i64, transitions: &[Transition]) -> Result<(), SqliteStoreError> {
    if transitions.is_empty() {
        return Ok(());
    }
    let mut last: i64 = connection
        .prepare_cached("SELECT coalesce(max(number), 0) FROM history WHERE election = ?1")?
        .query_one([election], |row| row.get(0))?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO history (election, number, at_unix_ms, term, candidate, change, reason)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for transition in transitions {
        last = last.saturating_add(1);
        insert.execute(params![
            election,
            last,
            from_u64(transition.at_unix_ms),
            from_u64(transition.term.get()),
            transition.candidate.as_str(),
            transition.change.as_str(),
            transition.reason,
        ])?;
    }
    connection
        .prepare_cached("DELETE FROM history WHERE election = ?1 AND number <= ?2")?
        .execute([election, last.saturating_sub(KEPT)])?;
    Ok(())
}

/// The newest lines, newest first.
pub(super) fn latest(
    connection: &Connection,
    key: &ElectionKey,
    limit: usize,
) -> Result<Vec<Transition>, SqliteStoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(
        "SELECT at_unix_ms, term, candidate, change, reason FROM history
         WHERE election = (SELECT id FROM election WHERE namespace = ?1 AND name = ?2)
         ORDER BY number DESC LIMIT ?3",
    )?;
    let rows = statement.query_and_then(params![key.namespace.as_str(), key.name.as_str(), limit], |row| {
        Ok(Transition {
            at_unix_ms: to_u64(row.get("at_unix_ms")?)?,
            term: to_term(row.get("term")?)?,
            candidate: to_candidate(row.get_ref("candidate")?.as_str().map_err(rusqlite::Error::from)?)?,
            change: to_change(row.get_ref("change")?.as_str().map_err(rusqlite::Error::from)?)?,
            reason: row.get("reason")?,
        })
    })?;
    rows.collect::<Result<_, SqliteStoreError>>().map_err(|fault| fault.in_record_of(key, "the table history"))
}
