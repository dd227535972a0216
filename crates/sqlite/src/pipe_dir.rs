//! The directory of pipes, held open: all operations happen in this very directory, even if it is renamed.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, chmodat, flock, mkdirat, mknodat, open, openat,
    renameat, unlinkat,
};
use rustix::io::Errno;

use super::access::{FileFlaw, FileStatus, Inode, TrustedUsers};
use super::error::SqliteStoreError;

/// A directory created by a trusted user, which no other user can change.
#[derive(Debug)]
pub(super) struct PipeDir {
    directory: OwnedFd,
    path: PathBuf,
    inode: Inode,
    trusted: TrustedUsers,
}

/// More than any text written here.
const MAX_TEXT_BYTES: usize = 512;
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

impl PipeDir {
    /// Opens the directory that belongs to a database. `None` when there is none.
    pub(super) fn open(path: &Path, database: &Path) -> Result<Option<Self>, SqliteStoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match open(path, flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(SqliteStoreError::unfit(path, FileFlaw::NotA("directory"))),
            Err(error) => return Err(SqliteStoreError::io("use the directory", path, error)),
        };
        let seen = FileStatus::of(&directory, path)?;
        // Where the database is missing nobody else is trusted.
        let owner = FileStatus::at(database)?.map_or(0, |database| database.owner);
        let trusted = TrustedUsers::with_database_of(owner);
        seen.check_directory(trusted).map_err(|flaw| SqliteStoreError::unfit(path, flaw))?;
        Ok(Some(Self { directory, path: path.to_owned(), inode: seen.inode, trusted }))
    }

    /// The same, after creating it if it is missing.
    pub(super) fn make(path: &Path, database: &Path) -> Result<Self, SqliteStoreError> {
        match mkdirat(CWD, path, Mode::RWXU) {
            // An odd umask may have taken away what the owner needs, and never gives anything to others.
            Ok(()) => chmodat(CWD, path, Mode::RWXU, AtFlags::empty())
                .map_err(|error| SqliteStoreError::io("make the directory", path, error))?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(SqliteStoreError::io("make the directory", path, error)),
        }
        Self::open(path, database)?.ok_or_else(|| SqliteStoreError::io("make the directory", path, Errno::NOENT))
    }

    /// Locks other processes out until this is dropped. Fails at once if another process holds the lock.
    pub(super) fn lock(&self) -> Result<(), SqliteStoreError> {
        flock(&self.directory, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| SqliteStoreError::io("lock the directory", &self.path, error))
    }

    pub(super) fn make_pipe(&self, name: &str) -> io::Result<()> {
        Ok(mknodat(&self.directory, name, FileType::Fifo, PRIVATE, 0)?)
    }

    /// Opens a pipe without waiting. `None` if it is not a pipe of a trusted user.
    pub(super) fn open_pipe(&self, name: &str, access: OFlags) -> Result<Option<(OwnedFd, Inode)>, Errno> {
        let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let pipe = openat(&self.directory, name, flags, Mode::empty())?;
        let seen = FileStatus::of(&pipe, Path::new(name)).ok().filter(|seen| self.is_ours(seen));
        Ok(seen.map(|seen| (pipe, seen.inode)))
    }

    /// The inode of a pipe of a trusted user.
    pub(super) fn look_at_pipe(&self, name: &str) -> Option<Inode> {
        FileStatus::within(&self.directory, name).filter(|seen| self.is_ours(seen)).map(|seen| seen.inode)
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.directory, from, &self.directory, to)?)
    }

    pub(super) fn remove(&self, name: &str) {
        // Somebody else may have been faster.
        let _ = unlinkat(&self.directory, name, AtFlags::empty());
    }

    pub(super) fn names(&self) -> Vec<String> {
        let Ok(entries) = Dir::read_from(&self.directory) else { return Vec::new() };
        entries.filter_map(|entry| entry.ok()?.file_name().to_str().ok().map(str::to_owned)).collect()
    }

    /// Reads a short text written by a trusted user.
    pub(super) fn read(&self, name: &str) -> Option<String> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(&self.directory, name, flags, Mode::empty()).ok()?;
        FileStatus::of(&file, Path::new(name)).ok()?.check_file(self.trusted).ok()?;
        let mut text = [0; MAX_TEXT_BYTES];
        let length = rustix::io::read(&file, &mut text).ok()?;
        String::from_utf8(text[..length].to_vec()).ok()
    }

    /// Creates a file with a short text, to be changed by [`overwrite`] later.
    pub(super) fn create(&self, name: &str, text: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(&self.directory, name, flags, PRIVATE)?;
        overwrite(&file, text).inspect_err(|_| self.remove(name))?;
        Ok(file)
    }

    /// Writes a short text, of which others see all or nothing. `draft` is a name that is not used otherwise.
    pub(super) fn write(&self, name: &str, draft: &str, text: &str) -> io::Result<()> {
        self.create(draft, text)?;
        self.rename(draft, name).inspect_err(|_| self.remove(draft))
    }

    fn is_ours(&self, seen: &FileStatus) -> bool {
        seen.check_pipe(self.trusted).is_ok() && seen.inode.is_on_device_of(self.inode)
    }
}

/// Replaces a text that was not longer.
pub(super) fn overwrite(file: &OwnedFd, text: &str) -> io::Result<()> {
    let written = rustix::io::pwrite(file, text.as_bytes(), 0)?;
    if written < text.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
}
