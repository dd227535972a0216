//! Steps before SQLite opens a file: creating a missing one, and waiting for leaders that rely on another one.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use tenure_store::Instant;

use super::access::FileStatus;
use super::config::Location;
use super::database::Absence;
use super::error::SqliteStoreError;
use super::identity::{look_at_database, look_beside};
use super::lost_files::LostFiles;
use super::peer_registry::PeerRegistry;
use super::pipe_dir::PipeDir;

/// Provides a file that SQLite may open.
///
/// # Errors
/// When there is none and none is to be made, it may not be used, or somebody may still lead by another one.
pub(super) fn prepare(
    location: &Location,
    lost_files: &mut LostFiles,
    now: Instant,
    absence: Absence,
) -> Result<(), SqliteStoreError> {
    let registry = PeerRegistry::of(location);
    registry.check()?;
    match look_at_database(location)? {
        None if absence == Absence::Refused => Err(SqliteStoreError::Missing),
        Some(seen) if !is_hollow(location, Some(seen))? => {
            let beside = look_beside(location, seen.owner)?;
            // SQLite must not join the log of one file to another, or an index to a log that it is not of.
            lost_files.check(&registry, now, |note| !note.is_of_all(seen.inode, beside))?;
            if registry.notes().iter().any(|(_, note)| note.strays_in(beside)) {
                // A process that was stopped has it open. It finds out what became of it when it goes on.
                let _folder = lock(&registry)?;
                return remove(&location.index());
            }
            Ok(())
        }
        Some(_) | None => make(location, &registry, lost_files, now),
    }
}

/// Whether there is nothing, or nothing but what a file that was emptied left behind: a new file gets its log only when
/// it has a first page.
fn is_hollow(location: &Location, seen: Option<FileStatus>) -> Result<bool, SqliteStoreError> {
    match seen {
        Some(seen) if seen.size > 0 => Ok(false),
        Some(_) => Ok(FileStatus::exactly_at(&location.log())?.is_some()),
        None => Ok(true),
    }
}

/// Creates the file in one process; the others find it.
fn make(
    location: &Location,
    registry: &PeerRegistry,
    lost_files: &mut LostFiles,
    now: Instant,
) -> Result<(), SqliteStoreError> {
    let _folder = lock(registry)?;
    if !is_hollow(location, look_at_database(location)?)? {
        return Ok(());
    }
    lost_files.check(registry, now, |_| true)?;
    // They belonged to a file that is gone. Processes that were stopped may have them open still.
    remove(&location.log())?;
    remove(&location.index())?;
    // Nonces own leases, so nobody else may read them, not for a moment. The files beside it inherit this. It is made
    // without being opened: closing it would drop the locks of others in this process.
    match mknodat(CWD, &location.real, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(SqliteStoreError::io("make", &location.real, error)),
    }
}

/// Keeps all other processes from creating or removing files until dropped.
fn lock(registry: &PeerRegistry) -> Result<PipeDir, SqliteStoreError> {
    let folder = registry.make_folder()?;
    folder.lock()?;
    Ok(folder)
}

fn remove(file: &Path) -> Result<(), SqliteStoreError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SqliteStoreError::io("remove", file, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
