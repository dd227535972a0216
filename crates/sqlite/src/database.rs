//! One open database file: opening it, and running transactions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, ffi};
use tenure_store::Nonce;

use super::busy::{self, BusyWait};
use super::config::Location;
use super::creation;
use super::error::SqliteStoreError;
use super::identity::{FileIdentity, Pins, check_link};
use super::lease_clock::LeaseClock;
use super::lost_files::LostFiles;
use super::open_files::OpenFiles;
use super::peer_registry::PeerRegistry;
use super::schema;

#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    location: Location,
    identity: FileIdentity,
    pins: Arc<Pins>,
    boot_id: String,
    rows: RefCell<HashMap<Nonce, i64>>,
}

/// The failure that a committed transaction survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// The death of every process. Nothing waits for the disk.
    Crash,
    /// A power failure. A term that was granted once must never be granted again.
    PowerLoss,
}

/// The reaction to a missing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    Mended,
    Refused,
}

/// Processes that start at the same moment lock each other out while one of them creates the file.
const OPEN_ATTEMPTS: u32 = 40;
/// More than the number of statements.
const STATEMENTS_KEPT: usize = 128;

/// Whether the next attempt to open a file may succeed: others may be making it, using it, or putting another in its place.
fn passes(fault: &SqliteStoreError) -> bool {
    fault.is_busy() || fault.is_incomplete() || matches!(fault, SqliteStoreError::Replaced)
}

impl Database {
    /// Opens the file, unless a process may still lead by an earlier file.
    pub(super) fn open(
        path: &Path,
        clock: &LeaseClock,
        lost_files: &mut LostFiles,
        absence: Absence,
    ) -> Result<Self, SqliteStoreError> {
        if absence == Absence::Refused && !path.exists() {
            return Err(SqliteStoreError::Missing);
        }
        let mut patience = BusyWait::new();
        let mut failed = 0;
        loop {
            match Self::attempt(path, clock, lost_files, absence) {
                Err(fault) if failed < OPEN_ATTEMPTS && passes(&fault) => {
                    patience.wait(failed);
                    failed += 1;
                }
                result => return result,
            }
        }
    }

    /// The same, after a moment in which that may change: leaders notice at once that their file is lost.
    pub(super) fn open_patiently(
        path: &Path,
        clock: &LeaseClock,
        lost_files: &mut LostFiles,
        absence: Absence,
    ) -> Result<Self, SqliteStoreError> {
        let mut patience = BusyWait::new();
        for failed in 0..OPEN_ATTEMPTS {
            match Self::open(path, clock, lost_files, absence) {
                Err(SqliteStoreError::Awaited { .. }) => patience.wait(failed),
                result => return result,
            };
        }
        Self::open(path, clock, lost_files, absence)
    }

    pub(super) fn location(&self) -> &Location {
        &self.location
    }

    /// The rows of grants renewed in this file, so that the next renewal need not look up its names.
    pub(super) fn rows(&self) -> &RefCell<HashMap<Nonce, i64>> {
        &self.rows
    }

    /// The directory where users of these files show that they are alive.
    pub(super) fn registry(&self) -> PeerRegistry {
        PeerRegistry::of(&self.location).with(self.identity, Arc::clone(&self.pins))
    }

    pub(super) fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Whether the files at the path are the ones that are open, and may be used.
    pub(super) fn check_identity(&self) -> Result<(), SqliteStoreError> {
        if FileIdentity::of(&self.location)? == self.identity { Ok(()) } else { Err(SqliteStoreError::Replaced) }
    }

    /// Reads several values from one state of the file.
    pub(super) fn read<T>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, SqliteStoreError>,
    ) -> Result<T, SqliteStoreError> {
        self.transact(TransactionBehavior::Deferred, act)
    }

    /// Reads and writes while no other process writes.
    pub(super) fn write<T>(
        &self,
        durability: Durability,
        act: impl FnOnce(&Connection) -> Result<T, SqliteStoreError>,
    ) -> Result<T, SqliteStoreError> {
        // The lock comes first: a transaction that reads before it locks fails, without waiting, when somebody else
        // wrote in between.
        match durability {
            Durability::Crash => self.transact(TransactionBehavior::Immediate, act),
            Durability::PowerLoss => {
                self.connection.execute_batch("PRAGMA synchronous = FULL")?;
                let result = self.transact(TransactionBehavior::Immediate, act);
                // If this fails, later transactions are slower, and that is all.
                let _ = self.connection.execute_batch("PRAGMA synchronous = NORMAL");
                result
            }
        }
    }

    /// Closes without touching files at the path that now belong to another process.
    pub(super) fn abandon(self) {
        let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }

    fn attempt(
        path: &Path,
        clock: &LeaseClock,
        lost_files: &mut LostFiles,
        absence: Absence,
    ) -> Result<Self, SqliteStoreError> {
        let location = Location::find(path)?;
        check_link(&location)?;
        location.check_file_system()?;
        creation::prepare(&location, lost_files, clock.now(), absence)?;
        let open_files = OpenFiles::of(&location);
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&location.real, flags)?;
        configure(&connection)?;
        if connection.is_readonly("main")? {
            return Err(SqliteStoreError::Sqlite(rusqlite::Error::SqliteFailure(
                ffi::Error::new(ffi::SQLITE_READONLY),
                None,
            )));
        }
        let registry = PeerRegistry::of(&location);
        schema::prepare(&connection)?;
        connection.execute_batch("PRAGMA synchronous = NORMAL")?;
        adopt_boot(&connection, clock, &registry)?;
        // From the first transaction on SQLite holds a lock that keeps the log in place, so what is seen now stays.
        let identity = FileIdentity::of(&location)?;
        let pins = Arc::new(Pins::new(&location, &identity)?);
        let (boot_id, rows) = (clock.boot_id().to_owned(), RefCell::default());
        let database = Self { connection, location, identity, pins, boot_id, rows };
        let is_current = !tenure_sys::sqlite::has_moved(&database.connection)
            && open_files.has_opened(&database.location, &identity);
        let checked = if !is_current {
            Err(SqliteStoreError::Replaced)
        } else {
            lost_files.check(&registry, clock.now(), |note| !note.is_of(&identity))
        };
        match checked {
            Ok(()) => Ok(database),
            Err(fault) => {
                database.abandon();
                Err(fault)
            }
        }
    }

    fn transact<T>(
        &self,
        behavior: TransactionBehavior,
        act: impl FnOnce(&Connection) -> Result<T, SqliteStoreError>,
    ) -> Result<T, SqliteStoreError> {
        let transaction = Transaction::new_unchecked(&self.connection, behavior)?;
        if boot_of_file(&transaction)?.as_deref() != Some(&self.boot_id) {
            return Err(SqliteStoreError::OtherBoot);
        }
        let result = act(&transaction)?;
        transaction.commit().map_err(SqliteStoreError::Commit)?;
        Ok(result)
    }
}

fn configure(connection: &Connection) -> Result<(), SqliteStoreError> {
    connection.busy_handler(Some(busy::wait_for_lock))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    for (option, on) in [
        // Nothing in a file may make us run code of its own.
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        // Otherwise SQLite compiles most statements anew whenever a parameter is bound, in search of a better plan.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true),
    ] {
        connection.set_db_config(option, on)?;
    }
    Ok(())
}

/// After a reboot every lease in the file is over.
fn adopt_boot(connection: &Connection, clock: &LeaseClock, registry: &PeerRegistry) -> Result<(), SqliteStoreError> {
    if boot_of_file(connection)?.as_deref() == Some(clock.boot_id()) {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    match boot_of_file(&transaction)? {
        Some(boot_id) if boot_id == clock.boot_id() => return Ok(()),
        // Whoever lives on this kernel lives in this boot, whatever its container says.
        Some(_) if registry.has_living() => return Err(SqliteStoreError::OtherBoot),
        Some(_) | None => {}
    }
    transaction.execute_batch(include_str!("sql/new_boot.sql"))?;
    let adopt = "INSERT INTO machine (id, boot_id) VALUES (1, ?1)
                 ON CONFLICT (id) DO UPDATE SET boot_id = excluded.boot_id";
    transaction.execute(adopt, [clock.boot_id()])?;
    transaction.commit().map_err(SqliteStoreError::Commit)
}

fn boot_of_file(connection: &Connection) -> Result<Option<String>, SqliteStoreError> {
    let mut statement = connection.prepare_cached("SELECT boot_id FROM machine")?;
    Ok(statement.query_row((), |row| row.get(0)).optional()?)
}
