//! Creates the tables, and recognises foreign files.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::SqliteStoreError;

/// The version that this program can read and write.
pub(super) const VERSION: i64 = 8;
/// What makes each version of the one before, beginning with an empty file. Files of every version are about, so a step is
/// never changed; another one is added.
const STEPS: [(i64, &str); 8] = [
    (1, include_str!("schema.sql")),
    (2, include_str!("schema_messages.sql")),
    (3, include_str!("schema_broadcasts.sql")),
    (4, include_str!("schema_jobs.sql")),
    (5, include_str!("schema_job_orders.sql")),
    (6, include_str!("schema_forgotten.sql")),
    (7, include_str!("schema_line.sql")),
    (VERSION, include_str!("schema_terms_above.sql")),
];
const APPLICATION_ID: i64 = 0x7465_6E75;

/// Makes an empty file ours, brings one of ours up to date, and leaves everything else as it is. Many processes may do
/// this at the same time, and others may be using the file: a step only ever adds to it.
pub(super) fn prepare(connection: &Connection) -> Result<(), SqliteStoreError> {
    // Switching to write-ahead logging writes to the file, so it must be known to be ours before.
    let found = look(&Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?)?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(SqliteStoreError::NotWal(mode));
    }
    if found == VERSION {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let found = look(&transaction)?;
    for (_, step) in STEPS.iter().filter(|(version, _)| *version > found) {
        transaction.execute_batch(step)?;
    }
    transaction.commit().map_err(SqliteStoreError::Commit)
}

/// The version of a file of ours; an empty one has version 0. One transaction, so that it never sees half of what another
/// process is just making.
fn look(transaction: &Transaction<'_>) -> Result<i64, SqliteStoreError> {
    let pragma = |name: &str| transaction.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = transaction.query_one("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    match (application, version, tables) {
        (APPLICATION_ID, 1..=VERSION, _) => Ok(version),
        (APPLICATION_ID, found, _) if found > VERSION => Err(SqliteStoreError::Newer { found, known: VERSION }),
        (0, 0, 0) => Ok(0),
        _ => Err(SqliteStoreError::Foreign),
    }
}
