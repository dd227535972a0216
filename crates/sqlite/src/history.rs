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
    let mut last: i64 =
        connection.prepare_cached(include_str!("sql/history_last.sql"))?.query_one([election], |row| row.get(0))?;
    for transition in transitions {
        last = last.saturating_add(1);
        connection.prepare_cached(include_str!("sql/history_add.sql"))?.execute(params![
            election,
            last,
            from_u64(transition.at_unix_ms),
            from_u64(transition.term.get()),
            transition.candidate.as_str(),
            transition.change.as_str(),
            transition.reason,
        ])?;
    }
    connection.prepare_cached(include_str!("sql/history_trim.sql"))?.execute([election, last.saturating_sub(KEPT)])?;
    Ok(())
}

/// The newest lines, newest first.
pub(super) fn latest(
    connection: &Connection,
    key: &ElectionKey,
    limit: usize,
) -> Result<Vec<Transition>, SqliteStoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(include_str!("sql/history_latest.sql"))?;
    let rows = statement.query_and_then(params![key.namespace.as_str(), key.name.as_str(), limit], |row| {
        Ok(Transition {
            at_unix_ms: to_u64(row.get(0)?)?,
            term: to_term(row.get(1)?)?,
            candidate: to_candidate(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?)?,
            change: to_change(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?)?,
            reason: row.get(4)?,
        })
    })?;
    rows.collect::<Result<_, SqliteStoreError>>().map_err(|fault| fault.in_record_of(key, "the table history"))
}
