//! The floor on SQLite: the least that any implementation with the same durability has to do.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

/// A database with one row per lease, as bare as it can be.
pub(crate) fn create(path: &Path, leases: u32) -> rusqlite::Result<()> {
    let mut connection = open(path)?;
    connection
        .execute_batch("CREATE TABLE lease (id INTEGER PRIMARY KEY, holder BLOB, term INTEGER, expires INTEGER)")?;
    let transaction = connection.transaction()?;
    for id in 0..leases {
        transaction.execute("INSERT INTO lease VALUES (?1, x'00', 0, 0)", [id])?;
    }
    transaction.commit()
}

pub(crate) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
    Ok(connection)
}

/// Gives a lease away: not durable, as losing it costs nothing.
pub(crate) fn release(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.execute("UPDATE lease SET holder = NULL, expires = 0 WHERE id = 0", [])?;
    Ok(())
}

/// Takes a lease durably, as a term must never be given twice.
pub(crate) fn acquire(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA synchronous = FULL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let taken = transaction
        .prepare_cached(
            "UPDATE lease SET holder = x'01', term = term + 1, expires = 1 WHERE id = 0 AND holder IS NULL",
        )?
        .execute([])?;
    transaction.commit()?;
    assert_eq!(taken, 1, "nobody else is there");
    connection.execute_batch("PRAGMA synchronous = NORMAL")
}

/// Renews all leases in one transaction.
pub(crate) fn renew_all(connection: &mut Connection, leases: u32, expires: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut renew = transaction.prepare_cached("UPDATE lease SET expires = ?2 WHERE id = ?1 AND holder = x'00'")?;
        for id in 0..leases {
            renew.execute((id, expires))?;
        }
    }
    transaction.commit()
}
