//! Forgetting elections that nobody uses.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};
use tenure_core::record::{Forgetting, Record, Use};
use tenure_store::{ElectionKey, StoreError};

use super::db_thread::DbThread;
use super::error::SqliteStoreError;
use super::history;
use super::stand_by_rows::Need;
use super::transaction::{ElectionResult, Transaction};
use super::value::from_u64;

impl DbThread {
    /// It waits for the disk: a power failure must not take back how high the terms were and keep the rest forgotten.
    pub(super) fn forget(&mut self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        let forget = |transaction: &mut Transaction<'_>| transaction.forget(key, idle_for)?;
        self.on_file(|db_thread, database| db_thread.write_durably(database, forget))
    }
}

impl Transaction<'_> {
    fn forget(&mut self, key: &ElectionKey, idle_for: Duration) -> ElectionResult<Forgetting> {
        let names = [key.namespace.as_str(), key.name.as_str()];
        let found = match self.find(key, Need::Everybody)? {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Ok(Forgetting::Unknown)),
            Err(fault) => return Ok(Err(fault)),
        };
        let mut waiting = self.connection().prepare_cached(include_str!("sql/election_waiting.sql"))?;
        if waiting.query_one(names, |row| row.get::<_, i64>(0))? > 0 {
            return Ok(Ok(Forgetting::InUse(Use::Messages)));
        }
        let (used, record) = self.step(key, &found, Record::lay_down)?;
        let newest = history::latest(self.connection(), key, 1)?.pop();
        let idle = newest.map(|newest| self.unix_ms().saturating_sub(newest.at_unix_ms));
        let is_recent = idle.is_some_and(|idle| Duration::from_millis(idle) < idle_for);
        if let Some(used) = used.or(is_recent.then_some(Use::Recent)) {
            return Ok(Ok(Forgetting::InUse(used)));
        }
        if let Some(term) = record.last_term {
            let mut statement = self.connection().prepare_cached(include_str!("sql/forgotten_put.sql"))?;
            statement.execute(params![key.namespace.as_str(), from_u64(term.get())])?;
        }
        for statement in include_str!("sql/election_forget.sql").split_inclusive(";\n") {
            self.connection().prepare_cached(statement)?.execute([found.election])?;
        }
        Ok(Ok(Forgetting::Forgotten))
    }
}

/// The highest term that was ever forgotten in the namespace of this election.
pub(super) fn highest_forgotten(
    connection: &rusqlite::Connection,
    key: &ElectionKey,
) -> Result<Option<i64>, SqliteStoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/forgotten_find.sql"))?;
    Ok(statement.query_row([key.namespace.as_str()], |row| row.get(0)).optional()?)
}
