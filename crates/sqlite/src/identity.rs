//! Whether the files are still the ones that were opened, and may still be used.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

use super::access::{FileFlaw, FileStatus, Inode, TrustedUsers};
use super::config::Location;
use super::error::SqliteStoreError;

/// The inodes of the database and of the two files that belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    pub(super) database: Inode,
    pub(super) log: Inode,
    pub(super) index: Inode,
}

impl FileIdentity {
    /// # Errors
    /// When one of them is missing or was emptied, has several names, or belongs to somebody else.
    pub(super) fn of(location: &Location) -> Result<Self, SqliteStoreError> {
        let database = look_at_database(location)?.filter(|seen| seen.size > 0).ok_or(SqliteStoreError::Replaced)?;
        let [log, index] = look_beside(location, database.owner)?.map(|inode| inode.ok_or(SqliteStoreError::Replaced));
        Ok(Self { database: database.inode, log: log?, index: index? })
    }
}

/// Examines the database alone, if it exists and may be used.
pub(super) fn look_at_database(location: &Location) -> Result<Option<FileStatus>, SqliteStoreError> {
    let Some(seen) = FileStatus::at(&location.path)? else { return Ok(None) };
    seen.check_file(TrustedUsers::with_database_of(seen.owner))
        .map_err(|flaw| SqliteStoreError::unfit(&location.path, flaw))?;
    // A file that was moved away and linked to from its old place is the same file, but whoever comes now finds its log and
    // its pipes beside the new place.
    if FileStatus::exactly_at(&location.real)?.is_none_or(|real| real.inode != seen.inode) {
        return Err(SqliteStoreError::Replaced);
    }
    Ok(Some(seen))
}

/// Refuses a link that stands where a database was: its log, which may hold its newest terms, and its pipes, by which it may
/// still be used, would be overlooked.
pub(super) fn check_link(location: &Location) -> Result<(), SqliteStoreError> {
    if location.path == location.real {
        return Ok(());
    }
    for (by_name, real) in location.companions_by_name().into_iter().zip(location.companions()) {
        let Some(left_behind) = FileStatus::exactly_at(&by_name)? else { continue };
        if FileStatus::exactly_at(&real)?.is_none_or(|real| real.inode != left_behind.inode) {
            return Err(SqliteStoreError::unfit(&location.path, FileFlaw::LeftBehind(by_name)));
        }
    }
    Ok(())
}

/// Examines its log and its index, if they exist and may be used.
pub(super) fn look_beside(location: &Location, owner: u32) -> Result<[Option<Inode>; 2], SqliteStoreError> {
    let look = |path: &Path| -> Result<Option<Inode>, SqliteStoreError> {
        let Some(seen) = FileStatus::exactly_at(path)? else { return Ok(None) };
        seen.check_file(TrustedUsers::with_database_of(owner)).map_err(|flaw| SqliteStoreError::unfit(path, flaw))?;
        Ok(Some(seen.inode))
    };
    Ok([look(&location.log())?, look(&location.index())?])
}

/// Keeps the inode numbers of the files from being reused, even after the files were deleted and closed.
#[derive(Debug)]
pub(super) struct Pins {
    _files: [OwnedFd; 3],
}

impl Pins {
    pub(super) fn new(location: &Location, identity: &FileIdentity) -> Result<Self, SqliteStoreError> {
        let pin = |path: &Path, inode: Inode| {
            // Such a descriptor reads and writes nothing, and no lock is dropped when it is closed.
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file =
                open(path, flags, Mode::empty()).map_err(|error| SqliteStoreError::io("look at", path, error))?;
            if FileStatus::of(&file, path)?.inode == inode { Ok(file) } else { Err(SqliteStoreError::Replaced) }
        };
        Ok(Self {
            _files: [
                pin(&location.real, identity.database)?,
                pin(&location.log(), identity.log)?,
                pin(&location.index(), identity.index)?,
            ],
        })
    }
}
