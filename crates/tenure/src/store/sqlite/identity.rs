//! Whether the files are still the ones that were opened.
//!
//! They are only ever looked at by path. Opening them would be fatal: closing any descriptor of a file drops all locks
//! that SQLite holds on it for this process.

use std::path::Path;

use rustix::fs::stat;

use super::config::Location;

/// The inodes of the database and of the two files without which it is another database.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity {
    database: Inode,
    log: Inode,
    index: Inode,
}

type Inode = (u64, u64);

impl Identity {
    /// `None` when one of them is missing.
    pub(super) fn of(location: &Location) -> Option<Self> {
        Some(Self { database: inode(&location.path)?, log: inode(&location.log())?, index: inode(&location.index())? })
    }
}

fn inode(path: &Path) -> Option<Inode> {
    let stat = stat(path).ok()?;
    Some((stat.st_dev, stat.st_ino))
}
