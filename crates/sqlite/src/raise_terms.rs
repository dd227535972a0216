//! Continues above the terms of another store.

use rusqlite::params;
use tenure_store::{ElectionName, Namespace, StoreError, Term};

use super::db_thread::DbThread;
use super::error::SqliteStoreError;
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
        let (namespace, above) = (namespace.as_str(), from_u64(above.get()));
        if let Some(name) = only {
            let mut statement = self.connection().prepare_cached(include_str!("sql/terms_raise_unborn.sql"))?;
            statement.execute([namespace, name.as_str()])?;
        } else {
            let mut statement = self.connection().prepare_cached(include_str!("sql/forgotten_put.sql"))?;
            statement.execute(params![namespace, above])?;
        }
        let mut statement = self.connection().prepare_cached(include_str!("sql/terms_raise.sql"))?;
        Ok(statement.execute(params![namespace, above, only.map(ElectionName::as_str)])? as u64)
    }
}
