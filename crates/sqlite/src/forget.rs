//! Forgets unused elections.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use tenure_store::record::{Forgetting, Record, Use};
use tenure_store::{ElectionKey, Namespace, StoreError, Term};

use super::db_thread::DbThread;
use super::error::SqliteStoreError;
use super::history;
use super::stand_by_rows::Need;
use super::transaction::{ElectionResult, Transaction};
use super::value::{from_instant, from_u64};

impl DbThread {
    /// It waits for the disk: a power failure must not take back how high the terms were and keep the rest forgotten.
    pub(super) fn forget(&mut self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        let forget = |transaction: &mut Transaction<'_>| transaction.forget(key, idle_for)?;
        self.on_file(|db_thread, database| db_thread.write_durably(database, forget))
    }
}

impl Transaction<'_> {
    fn forget(&mut self, key: &ElectionKey, idle_for: Duration) -> ElectionResult<Forgetting> {
        let found = match self.find(key, Need::Everybody)? {
            Ok(Some(found)) if found.record.last_term.is_some() => found,
            Ok(_) if self.has_messages(key)? => return Ok(Ok(Forgetting::InUse(Use::Messages))),
            Ok(_) => return Ok(Ok(Forgetting::Unknown)),
            // Nobody knows since when it is idle.
            Err(fault) if !idle_for.is_zero() => return Ok(Err(fault)),
            Err(_) => return self.forget_damaged(key).map(Ok),
        };
        if self.has_messages(key)? {
            return Ok(Ok(Forgetting::InUse(Use::Messages)));
        }
        let (used, record) = self.step(key, &found, Record::lay_down)?;
        let newest = history::latest(self.connection(), key, 1)?.pop();
        let idle = newest.map(|newest| self.unix_ms().saturating_sub(newest.at_unix_ms));
        let is_recent = idle.is_some_and(|idle| Duration::from_millis(idle) < idle_for);
        if let Some(used) = used.or(is_recent.then_some(Use::Recent)) {
            return Ok(Ok(Forgetting::InUse(used)));
        }
        self.remove(key, found.election, record.highest_taken().map(Term::get))?;
        Ok(Ok(Forgetting::Forgotten))
    }

    /// Removes what cannot be read as a record, unless somebody leads or stands by as far as the rows tell. Every grant has
    /// left its term in the history; where not even that can be read, terms go on above the time, which no count reaches.
    fn forget_damaged(&self, key: &ElectionKey) -> Result<Forgetting, SqliteStoreError> {
        if self.has_messages(key)? {
            return Ok(Forgetting::InUse(Use::Messages));
        }
        let mut statement = self.connection().prepare_cached(include_str!("sql/election_salvage.sql"))?;
        let values = params![key.namespace.as_str(), key.name.as_str(), from_instant(self.now())];
        let (election, is_led, is_stood_by, last_term) = statement.query_one(values, |row| {
            let (is_led, is_stood_by) = (row.get::<_, bool>("is_led")?, row.get::<_, bool>("is_stood_by")?);
            Ok((row.get("id")?, is_led, is_stood_by, row.get::<_, Option<i64>>("highest_term")?))
        })?;
        if is_led || is_stood_by {
            return Ok(Forgetting::InUse(if is_led { Use::Led } else { Use::StoodBy }));
        }
        let last_term = last_term.and_then(|term| u64::try_from(term).ok()).unwrap_or_else(|| self.unix_ms());
        self.remove(key, election, Some(last_term))?;
        Ok(Forgetting::Forgotten)
    }

    fn has_messages(&self, key: &ElectionKey) -> Result<bool, SqliteStoreError> {
        let mut waiting = self
            .connection()
            .prepare_cached("SELECT coalesce(max(waiting), 0) FROM mailbox WHERE namespace = ?1 AND name = ?2")?;
        Ok(waiting.query_one([key.namespace.as_str(), key.name.as_str()], |row| row.get::<_, i64>(0))? > 0)
    }

    fn remove(&self, key: &ElectionKey, election: i64, last_term: Option<u64>) -> Result<(), SqliteStoreError> {
        if let Some(term) = last_term {
            raise_forgotten(self.connection(), &key.namespace, term)?;
        }
        for statement in include_str!("sql/election_forget.sql").split_inclusive(";\n") {
            self.connection().prepare_cached(statement)?.execute([election])?;
        }
        Ok(())
    }
}

/// The highest term that was ever forgotten in the namespace of this election.
pub(super) fn highest_forgotten(connection: &Connection, key: &ElectionKey) -> Result<Option<i64>, SqliteStoreError> {
    let mut statement = connection.prepare_cached("SELECT last_term FROM forgotten WHERE namespace = ?1")?;
    Ok(statement.query_row([key.namespace.as_str()], |row| row.get(0)).optional()?)
}

/// Lets whatever begins in this namespace from now on begin above a term.
pub(super) fn raise_forgotten(
    connection: &Connection,
    namespace: &Namespace,
    above: u64,
) -> Result<(), SqliteStoreError> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO forgotten (namespace, last_term) VALUES (?1, ?2)
         ON CONFLICT (namespace) DO UPDATE SET last_term = max(last_term, excluded.last_term)",
    )?;
    statement.execute(params![namespace.as_str(), from_u64(above)])?;
    Ok(())
}
