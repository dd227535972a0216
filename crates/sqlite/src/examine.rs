//! Checks of a database file for `tenure doctor`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::statvfs;
use tenure_store::{Finding, StoreError};

use super::access::FileStatus;
use super::config::Location;
use super::database::{Database, Durability};
use super::db_thread::DbThread;
use super::error::SqliteStoreError;
use super::schema::VERSION;

/// Every grant waits for a write. Slower disks make elections slow, but not wrong.
const SLOW_WRITE: Duration = Duration::from_millis(100);
/// About the size of a few transactions.
const PROBE_BYTES: usize = 64 << 10;
/// Room for the log of a few thousand renewals.
const MIN_SPACE: u64 = 64 << 20;

impl DbThread {
    /// Reads, writes, and examines the surroundings of the file.
    pub(super) fn examine(&mut self) -> Vec<Finding> {
        let path = self.path().to_owned();
        let clock = Finding::good("clock", self.clock().describe());
        let findings = self.on_file(|_, database| {
            Ok(vec![
                Finding::good("reach", format!("{} is open", path.display())),
                file_system(database.location()),
                Finding::good("schema", format!("version {VERSION}")),
                Finding::good(
                    "name",
                    "the file has one name and is not mounted by itself; mount directories, not files",
                ),
                integrity(database)?,
                rights(database)?,
                writable(database),
                space(database),
            ])
        });
        match findings {
            Ok(mut findings) => {
                findings.push(clock);
                findings
            }
            Err(error) => vec![Finding::bad("reach", describe(&error)), clock],
        }
    }
}

/// Checks that the pages fit together. One flaw is enough to know that the file must be restored.
fn integrity(database: &Database) -> Result<Finding, SqliteStoreError> {
    let found: String =
        database.read(|connection| Ok(connection.query_one("PRAGMA quick_check(1)", (), |row| row.get(0))?))?;
    if found == "ok" {
        return Ok(Finding::good("integrity", "the pages of the file are consistent"));
    }
    let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
    let detail = format!("the file is damaged: {found}; restore it from a backup, or start with a new file");
    Ok(Finding::bad("integrity", detail))
}

/// Checks what other users may do to the file and around it.
fn rights(database: &Database) -> Result<Finding, SqliteStoreError> {
    let location = database.location();
    let directory = location.real.parent().unwrap_or(&location.real);
    let (file, around) = (FileStatus::at(&location.path)?, FileStatus::at(directory)?);
    if let Some(file) = file.filter(FileStatus::is_readable_by_others) {
        let detail = format!(
            "other users can read the file (mode {:04o}) and take its leases; restrict it: chmod 0600",
            file.mode()
        );
        return Ok(Finding::warning("rights", detail));
    }
    match around.filter(FileStatus::is_open_to_others) {
        Some(around) => {
            let detail = format!(
                "other users can delete the file, because they can write to {} (mode {:04o}); use a directory with \
                 mode 0700",
                directory.display(),
                around.mode()
            );
            Ok(Finding::warning("rights", detail))
        }
        None => Ok(Finding::good("rights", "only the owner of the file can read, write or delete it")),
    }
}

fn file_system(location: &Location) -> Finding {
    if location.is_on_overlay() {
        // The layers of a container. Locks belong to one mount of them: to another mount, or to the directory below, the file
        // is another one, and nothing tells.
        let detail = "an overlay, as the layers of a container are; other containers cannot share it, and would elect \
                      leaders of their own: put the file on a volume";
        return Finding::warning("file system", detail);
    }
    Finding::good("file system", "local, with write-ahead logging")
}

fn writable(database: &Database) -> Finding {
    let location = database.location();
    let result = database.write(Durability::PowerLoss, touch).and_then(|()| time_write(&location.real));
    match result {
        Ok(took) => {
            let detail = format!("a durable write took {:.3} ms", took.as_secs_f64() * 1_000.0);
            if location.is_in_memory() {
                let detail = format!("{detail}, but the file system is in memory: a reboot starts the terms over");
                Finding::warning("writable", detail)
            } else if took < SLOW_WRITE {
                Finding::good("writable", detail)
            } else {
                Finding::warning("writable", format!("{detail}; elections wait for that"))
            }
        }
        Err(fault) => Finding::bad("writable", describe(&fault.about(&location.path))),
    }
}

/// Writes a separate file beside the database: the log has room from earlier, even on a full disk.
fn time_write(database: &Path) -> Result<Duration, SqliteStoreError> {
    let random = getrandom::u64().unwrap_or_default();
    let mut path = database.as_os_str().to_owned();
    path.push(format!("-probe-{random:016x}"));
    let path = Path::new(&path);
    let write = || {
        let mut probe = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let before = Instant::now();
        probe.write_all(&[0xA5; PROBE_BYTES])?;
        probe.sync_all()?;
        Ok(before.elapsed())
    };
    let took = write().map_err(|error: io::Error| SqliteStoreError::io("write", path, error));
    let _ = fs::remove_file(path);
    took
}

/// Writes a page without changing its content.
fn touch(connection: &rusqlite::Connection) -> Result<(), SqliteStoreError> {
    connection.execute("UPDATE machine SET boot_id = boot_id", ())?;
    Ok(())
}

fn space(database: &Database) -> Finding {
    let place = database.location().processes();
    let place = place.parent().unwrap_or(&database.location().real);
    match statvfs(place) {
        Ok(space) => {
            let free = space.f_bavail.saturating_mul(space.f_frsize);
            let detail = format!("{} MiB free in {}", free >> 20, place.display());
            if free < MIN_SPACE { Finding::warning("space", detail) } else { Finding::good("space", detail) }
        }
        Err(error) => Finding::warning("space", format!("cannot determine the free space: {error}")),
    }
}

fn describe(error: &StoreError) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(source) => format!("{error} ({source})"),
        None => error.to_string(),
    }
}
