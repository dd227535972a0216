//! Steps before SQLite opens a file: creating a missing one, and waiting for leaders that rely on another one.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use tenure_store::Instant;

use super::access::{FileStatus, Inode};
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
        Some(_) if is_hollow(location)? => make(location, &registry, lost_files, now),
        Some(seen) => {
            let beside = look_beside(location, seen.owner)?;
            // SQLite must not join the log of one file to another, or an index to a log that it is not of.
            lost_files.check(&registry, now, |note| !note.is_of_all(seen.inode, beside))?;
            if has_stray_index(&registry, beside) { remove_stray_index(location, &registry) } else { Ok(()) }
        }
        None => make(location, &registry, lost_files, now),
    }
}

/// Whether there is nothing, or nothing but what a file that was emptied left behind: a new file gets its log only when
/// it has a first page. So the log is looked for first; a file that others are just making would otherwise look empty, and
/// then have a log.
fn is_hollow(location: &Location) -> Result<bool, SqliteStoreError> {
    let has_log = FileStatus::exactly_at(&location.log())?.is_some();
    Ok(look_at_database(location)?.is_none_or(|seen| seen.size == 0 && has_log))
}

/// Whether a process that was stopped has the index open beside another log.
fn has_stray_index(registry: &PeerRegistry, beside: [Option<Inode>; 2]) -> bool {
    registry.notes().iter().any(|(_, note)| note.strays_in(beside))
}

/// The process that has it open finds out what became of it when it goes on.
fn remove_stray_index(location: &Location, registry: &PeerRegistry) -> Result<(), SqliteStoreError> {
    let _folder = lock(registry)?;
    // Another process may have removed it in the meantime, and a new one may be in use.
    match look_at_database(location)? {
        Some(seen) if has_stray_index(registry, look_beside(location, seen.owner)?) => remove(&location.index()),
        Some(_) | None => Ok(()),
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
    if !is_hollow(location)? {
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    /// Enough for one of the two to be interrupted between two steps.
    const ROUNDS: usize = 500;

    #[test]
    fn a_file_that_is_just_being_made_is_not_taken_for_one_that_was_emptied() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new.db");
        for _ in 0..ROUNDS {
            fs::write(&path, "").unwrap();
            let location = Location::find(&path).unwrap();
            let (start, log) = (Barrier::new(2), location.log());
            std::thread::scope(|scope| {
                // As SQLite does it.
                let maker = scope.spawn(|| {
                    start.wait();
                    fs::write(&path, "a first page").unwrap();
                    fs::write(&log, "").unwrap();
                });
                start.wait();
                while !maker.is_finished() {
                    assert!(!is_hollow(&location).unwrap());
                }
            });
            fs::remove_file(&log).unwrap();
        }
    }

    #[test]
    fn what_an_emptied_file_left_behind_is_hollow() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("emptied.db");
        let location = Location::find(&path).unwrap();
        assert!(is_hollow(&location).unwrap(), "missing");
        fs::write(&path, "").unwrap();
        assert!(!is_hollow(&location).unwrap(), "new");
        fs::write(location.log(), "of former pages").unwrap();
        assert!(is_hollow(&location).unwrap(), "emptied");
    }
}
