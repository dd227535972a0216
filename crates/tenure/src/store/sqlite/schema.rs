//! Making the tables, and telling our files from others.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::Fault;

/// What this program can read and write. It is raised with every change of `schema.sql`.
pub(super) const VERSION: i64 = 1;
const APPLICATION_ID: i64 = 0x7465_6E75;

/// Makes an empty file ours and leaves everything else as it is. Many processes may do this at the same time.
pub(super) fn prepare(connection: &Connection) -> Result<(), Fault> {
    // Switching to write-ahead logging writes to the file, so it must be known to be ours before.
    let found = look(&Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?)?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(Fault::NotWal(mode));
    }
    if found == Found::Ours {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if look(&transaction)? == Found::Empty {
        transaction.execute_batch(include_str!("schema.sql"))?;
    }
    transaction.commit().map_err(Fault::Commit)
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Empty,
    Ours,
}

/// One transaction, so that it never sees half of what another process is just making.
fn look(transaction: &Transaction<'_>) -> Result<Found, Fault> {
    let pragma = |name: &str| transaction.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = transaction.query_one(include_str!("sql/table_count.sql"), (), |row| row.get(0))?;
    match (application, version, tables) {
        (APPLICATION_ID, VERSION, _) => Ok(Found::Ours),
        (APPLICATION_ID, found, _) if found > VERSION => Err(Fault::Newer { found, known: VERSION }),
        (0, 0, 0) => Ok(Found::Empty),
        _ => Err(Fault::Foreign),
    }
}
