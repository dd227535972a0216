//! Checks that a file belongs to a trusted user and has only one name.
//!
//! Files of the database are only ever looked at by path. Opening them would be fatal: closing any descriptor of a file
//! drops all locks that SQLite holds on it for this process.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxAttributes, StatxFlags, statx};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::error::SqliteStoreError;

/// A reason why a file is unfit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FileFlaw {
    #[error(
        "is mounted by itself, and processes that use the same file under another path would elect another leader; \
         mount its directory, not the file"
    )]
    MountRoot,
    #[error(
        "has another name (a hard link), and processes that use it would elect another leader; remove the other name"
    )]
    Linked,
    #[error("belongs to another user (uid {0}), who could take leases or forge deaths; use another path")]
    Foreign(u32),
    #[error(
        "can be written by other users (mode {found:04o}), who could take leases or forge deaths; restrict it: chmod {wanted:04o}"
    )]
    Writable { found: u32, wanted: u32 },
    #[error("is not a {0}; remove it, or use another path")]
    NotA(&'static str),
    #[error(
        "is a link in the place of a database: {} is still there. Stop the processes that use it, and move the \
         database back, or move that file along with it",
        .0.display()
    )]
    LeftBehind(PathBuf),
}

/// The inode of a file, which no other file has at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inode {
    device: (u32, u32),
    pub(super) number: u64,
}

/// The kernel's description of one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileStatus {
    pub(super) inode: Inode,
    pub(super) owner: u32,
    pub(super) size: u64,
    mode: u32,
    links: u32,
    is_mount_root: bool,
}

/// The users whose files are trusted like our own.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrustedUsers {
    user: u32,
    /// Only the superuser works with files of other users; the owner of the database can do anything to it anyway.
    owner: Option<u32>,
}

impl Inode {
    pub(super) fn is_on_device_of(self, other: Self) -> bool {
        self.device == other.device
    }
}

impl FileStatus {
    /// Examines the target of a path. `None` when there is nothing.
    pub(super) fn at(path: &Path) -> Result<Option<Self>, SqliteStoreError> {
        Self::look(CWD, path, AtFlags::empty(), path)
    }

    /// The same without following a link.
    pub(super) fn exactly_at(path: &Path) -> Result<Option<Self>, SqliteStoreError> {
        Self::look(CWD, path, AtFlags::SYMLINK_NOFOLLOW, path)
    }

    /// Examines the file behind a descriptor; `path` is its name for display.
    pub(super) fn of(descriptor: impl AsFd, path: &Path) -> Result<Self, SqliteStoreError> {
        let seen = Self::look(descriptor, Path::new(""), AtFlags::EMPTY_PATH, path)?;
        seen.ok_or_else(|| SqliteStoreError::io("look at", path, Errno::NOENT))
    }

    /// Examines an entry of an open directory, without following a link.
    pub(super) fn within(directory: impl AsFd, name: &str) -> Option<Self> {
        Self::look(directory, Path::new(name), AtFlags::SYMLINK_NOFOLLOW, Path::new(name)).ok().flatten()
    }

    /// Checks a file of the database.
    pub(super) fn check_file(&self, trusted: TrustedUsers) -> Result<(), FileFlaw> {
        self.check(FileType::RegularFile, "regular file", trusted, 0o600)?;
        self.check_one_name()
    }

    /// Checks a directory of pipes.
    pub(super) fn check_directory(&self, trusted: TrustedUsers) -> Result<(), FileFlaw> {
        self.check(FileType::Directory, "directory", trusted, 0o700)?;
        if self.is_mount_root { Err(FileFlaw::MountRoot) } else { Ok(()) }
    }

    /// Checks a pipe.
    pub(super) fn check_pipe(&self, trusted: TrustedUsers) -> Result<(), FileFlaw> {
        self.check(FileType::Fifo, "named pipe", trusted, 0o600)?;
        self.check_one_name()
    }

    /// Whether users other than the owner may create, rename and remove files in this directory, including ours.
    pub(super) fn is_open_to_others(&self) -> bool {
        const STICKY: u32 = 0o1000;
        self.mode & 0o022 != 0 && self.mode & STICKY == 0
    }

    pub(super) fn is_readable_by_others(&self) -> bool {
        self.mode & 0o044 != 0
    }

    pub(super) fn mode(&self) -> u32 {
        self.mode & 0o7777
    }

    fn check(&self, kind: FileType, called: &'static str, trusted: TrustedUsers, wanted: u32) -> Result<(), FileFlaw> {
        if FileType::from_raw_mode(self.mode) != kind {
            return Err(FileFlaw::NotA(called));
        }
        if !trusted.includes(self.owner) {
            return Err(FileFlaw::Foreign(self.owner));
        }
        if self.mode & 0o022 != 0 {
            return Err(FileFlaw::Writable { found: self.mode(), wanted });
        }
        Ok(())
    }

    fn check_one_name(&self) -> Result<(), FileFlaw> {
        match (self.is_mount_root, self.links) {
            (true, _) => Err(FileFlaw::MountRoot),
            (false, 0 | 1) => Ok(()),
            (false, _) => Err(FileFlaw::Linked),
        }
    }

    fn look(directory: impl AsFd, path: &Path, flags: AtFlags, shown: &Path) -> Result<Option<Self>, SqliteStoreError> {
        match statx(directory, path, flags, StatxFlags::BASIC_STATS) {
            Ok(stat) => Ok(Some(Self {
                inode: Inode { device: (stat.stx_dev_major, stat.stx_dev_minor), number: stat.stx_ino },
                owner: stat.stx_uid,
                size: stat.stx_size,
                mode: u32::from(stat.stx_mode),
                links: stat.stx_nlink,
                is_mount_root: is_mount_root(&stat, shown),
            })),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(SqliteStoreError::io("look at", shown, error)),
        }
    }
}

impl TrustedUsers {
    /// Trusts the files of a database with this owner.
    pub(super) fn with_database_of(owner: u32) -> Self {
        let user = geteuid().as_raw();
        Self { user, owner: (user == 0).then_some(owner) }
    }

    pub(super) fn includes(self, user: u32) -> bool {
        user == self.user || user == 0 || Some(user) == self.owner
    }
}

fn is_mount_root(stat: &Statx, path: &Path) -> bool {
    if stat.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        return stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
    }
    // A kernel before 5.8 does not tell, but has a list.
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    path.canonicalize().is_ok_and(|path| is_mount_point(&mounts, path.as_os_str().as_bytes()))
}

/// Whether a list of mounts, in the kernel's format, contains this path.
fn is_mount_point(mounts: &[u8], path: &[u8]) -> bool {
    let points = mounts.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    points.map(unescaped).any(|point| point == path)
}

/// The kernel writes spaces and the like as `\040`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\') {
            Some(byte) => {
                plain.push(byte);
                rest = &after[3..];
            }
            None => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_found_in_the_list_of_the_kernel() {
        let mounts = b"22 1 0:20 / / rw - ext4 /dev/vda rw\n\
                       23 22 0:20 /srv/t.db /data/my\\040file.db rw - ext4 /dev/vda rw\n";
        assert!(is_mount_point(mounts, b"/"));
        assert!(is_mount_point(mounts, b"/data/my file.db"));
        assert!(!is_mount_point(mounts, b"/srv/t.db"));
        assert!(!is_mount_point(b"", b"/"));
        assert_eq!(unescaped(b"a\\0\\"), b"a\\0\\");
    }

    #[test]
    fn the_superuser_and_oneself_are_trusted() {
        let ordinary = TrustedUsers { user: 7, owner: None };
        assert!(ordinary.includes(7) && ordinary.includes(0) && !ordinary.includes(8));
        let superuser = TrustedUsers { user: 0, owner: Some(8) };
        assert!(superuser.includes(0) && superuser.includes(8) && !superuser.includes(7));
    }
}
