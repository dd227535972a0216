//! Continues above the terms of another store.

use rusqlite::params;
use tenure_store::{ElectionName, Namespace, StoreError, Term};

use super::db_thread::DbThread;
use super::error::SqliteStoreError;
use super::forget::raise_forgotten;
use super::transaction::Transaction;
use super::value::from_u64;

impl DbThread {
    /// It waits for the disk: raised terms must not fall in a power failure, when others already rely on them.
    pub(super) fn raise_terms(
        &mut self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, StoreError> {
        let raise = |transaction: &mut Transaction<'_>| transaction.raise_terms(namespace, only, above);
        self.on_file(|db_thread, database| db_thread.write_durably(database, raise))
    }
}

impl Transaction<'_> {
    fn raise_terms(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, SqliteStoreError> {
        let above = above.get();
        if let Some(name) = only {
            let mut statement = self.connection().prepare_cached(
                "INSERT INTO election (namespace, name, terms_above)
                 VALUES (?1, ?2, (SELECT last_term FROM forgotten WHERE namespace = ?1))
                 ON CONFLICT (namespace, name) DO NOTHING",
            )?;
            statement.execute([namespace.as_str(), name.as_str()])?;
        } else {
            raise_forgotten(self.connection(), namespace, above)?;
        }
        let mut statement = self.connection().prepare_cached(
            "UPDATE election SET terms_above = ?2
             WHERE namespace = ?1 AND (?3 IS NULL OR name = ?3)
               AND max(coalesce(last_term, 0), coalesce(terms_above, 0)) < ?2",
        )?;
        Ok(statement.execute(params![namespace.as_str(), from_u64(above), only.map(ElectionName::as_str)])? as u64)
    }
}
