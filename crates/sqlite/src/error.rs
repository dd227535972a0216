//! Errors of database files, and their messages.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ffi;
use rusqlite::{Error as SqliteError, ErrorCode};
use tenure_store::{ElectionKey, StoreError, StoreErrorKind, WriteOutcome};

use super::access::FileFlaw;

/// One fault of this backend. The path is added when it leaves the backend.
#[derive(Debug, thiserror::Error)]
pub(super) enum SqliteStoreError {
    /// SQLite refused, and the transaction was rolled back.
    #[error("{}", advice(.0))]
    Sqlite(#[source] SqliteError),
    /// SQLite failed to commit.
    #[error("cannot commit the transaction: {}", advice(.0))]
    Commit(#[source] SqliteError),
    #[error("cannot {doing} {}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// A value that tenure never wrote. It concerns one election, not the file.
    #[error("the database contains {0}, which tenure never wrote; restore it or start with a new file")]
    Nonsense(String),
    /// The same, where the election is known.
    #[error("{what}")]
    Damaged { election: ElectionKey, what: String },
    #[error(
        "created by a newer version of tenure (schema version {found}; this program knows up to {known}); upgrade this program"
    )]
    Newer { found: i64, known: i64 },
    #[error("this is the database of another program and was left unchanged; use a separate file for tenure")]
    Foreign,
    #[error("the file, or its -wal or -shm file, was deleted or replaced while it was in use")]
    Replaced,
    #[error(
        "the file, or its -wal or -shm file, was deleted or replaced while {processes} process(es) could lead by it; \
         waiting until they have noticed or ended, for {at_most:.1?} at most"
    )]
    Awaited { processes: usize, at_most: Duration },
    #[error("no such file, and none was created: it never had a candidate, or the path is wrong")]
    Missing,
    #[error("{} {flaw}", path.display())]
    Unfit { path: PathBuf, flaw: FileFlaw },
    #[error("write-ahead logging is not possible here (the journal mode stayed {0:?}); put the file on a local disk")]
    NotWal(String),
    #[error(
        "the file is on {0} and may be shared with other machines; elections in a file are safe on one machine only: put \
         it on a local disk, or use a store for several machines"
    )]
    Shared(&'static str),
    #[error(
        "the file is in use under another boot id: by another machine, or by a container that hides the machine's boot id; \
         all participants must see the same /proc/sys/kernel/random/boot_id"
    )]
    OtherBoot,
    #[error("this process created a time namespace but is not in it; its clock cannot be compared with others")]
    BetweenTimeNamespaces,
}

impl SqliteStoreError {
    pub(super) fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { doing, path: path.to_owned(), source: source.into() }
    }

    pub(super) fn unfit(path: &Path, flaw: FileFlaw) -> Self {
        Self::Unfit { path: path.to_owned(), flaw }
    }

    /// Whether only one election of a batch is affected.
    pub(super) fn is_of_one_election(&self) -> bool {
        matches!(self, Self::Nonsense(_) | Self::Damaged { .. })
    }

    /// The same for a value found in this place, in the record of this election.
    pub(super) fn in_record_of(self, key: &ElectionKey, place: &str) -> Self {
        match self {
            Self::Nonsense(what) => Self::Damaged { election: key.clone(), what: format!("{place} holds {what}") },
            fault => fault,
        }
    }

    /// Whether another process has the file locked at the moment.
    pub(super) fn is_busy(&self) -> bool {
        self.kind() == StoreErrorKind::Unavailable && !matches!(self, Self::Awaited { .. })
    }

    /// Whether a file ended before what had to be read, as one does that another process is making or clearing away.
    pub(super) fn is_incomplete(&self) -> bool {
        let code = match self {
            Self::Sqlite(source) => source.sqlite_error().map(|error| error.extended_code),
            _ => None,
        };
        code == Some(rusqlite::ffi::SQLITE_IOERR_SHORT_READ)
    }

    /// The public error about the file at `path`.
    pub(super) fn about(self, path: &Path) -> StoreError {
        let kind = self.kind();
        let message = format!("SQLite store {}: {self}", path.display());
        match self {
            Self::Commit(source) if may_have_happened(&source) => StoreError::unknown(kind, message).caused_by(source),
            Self::Commit(source) | Self::Sqlite(source) => StoreError::refused(kind, message).caused_by(source),
            Self::Io { source, .. } => StoreError::refused(kind, message).caused_by(source),
            Self::Replaced => StoreError::replaced(message),
            Self::Damaged { election, what } => {
                let place = format!("SQLite store {}", path.display());
                StoreError::damaged(&place, &election, WriteOutcome::Refused, &what)
            }
            Self::Nonsense(_)
            | Self::Newer { .. }
            | Self::Foreign
            | Self::NotWal(_)
            | Self::Shared(_)
            | Self::Awaited { .. }
            | Self::Missing
            | Self::Unfit { .. }
            | Self::OtherBoot
            | Self::BetweenTimeNamespaces => StoreError::refused(kind, message),
        }
    }

    fn kind(&self) -> StoreErrorKind {
        match self {
            Self::Sqlite(error) | Self::Commit(error) => kind_of(error),
            Self::Io { source, .. } => kind_of_io(source.kind()),
            Self::Nonsense(_) | Self::Damaged { .. } => StoreErrorKind::Corrupt,
            Self::Newer { .. } => StoreErrorKind::Schema,
            Self::Replaced => StoreErrorKind::Replaced,
            Self::Awaited { .. } => StoreErrorKind::Unavailable,
            Self::Unfit { flaw: FileFlaw::Foreign(_) | FileFlaw::Writable { .. } | FileFlaw::NotA(_), .. } => {
                StoreErrorKind::Denied
            }
            Self::Unfit { flaw: FileFlaw::MountRoot | FileFlaw::Linked | FileFlaw::LeftBehind(_), .. }
            | Self::Foreign
            | Self::NotWal(_)
            | Self::Shared(_)
            | Self::OtherBoot
            | Self::BetweenTimeNamespaces => StoreErrorKind::Configuration,
            Self::Missing => StoreErrorKind::Missing,
        }
    }
}

impl From<SqliteError> for SqliteStoreError {
    fn from(error: SqliteError) -> Self {
        if matches!(&error, SqliteError::SqliteFailure(told, _) if told.extended_code == ffi::SQLITE_READONLY_DBMOVED) {
            return Self::Replaced;
        }
        // An error without a code of SQLite's comes from decoding a column.
        match error.sqlite_error_code() {
            Some(_) => Self::Sqlite(error),
            None => Self::Nonsense(format!("a value of the wrong type ({error})")),
        }
    }
}

fn kind_of(error: &SqliteError) -> StoreErrorKind {
    let Some(code) = error.sqlite_error_code() else { return StoreErrorKind::Other };
    #[expect(clippy::wildcard_enum_match_arm, reason = "SQLite has many codes, and most of them mean a bug")]
    match code {
        ErrorCode::DiskFull => StoreErrorKind::Full,
        ErrorCode::ReadOnly => StoreErrorKind::ReadOnly,
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => StoreErrorKind::Denied,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            StoreErrorKind::Unavailable
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Other,
    }
}

fn kind_of_io(kind: io::ErrorKind) -> StoreErrorKind {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most of them have nothing to do with files")]
    match kind {
        io::ErrorKind::PermissionDenied => StoreErrorKind::Denied,
        io::ErrorKind::ReadOnlyFilesystem => StoreErrorKind::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => StoreErrorKind::Missing,
        io::ErrorKind::WouldBlock => StoreErrorKind::Unavailable,
        _ => StoreErrorKind::Other,
    }
}

/// A commit that failed before its last frame was written has not happened. One whose frames were written but not
/// synced is found, or not found, when the log is next recovered.
fn may_have_happened(error: &SqliteError) -> bool {
    !matches!(
        kind_of(error),
        StoreErrorKind::Full | StoreErrorKind::ReadOnly | StoreErrorKind::Unavailable | StoreErrorKind::Denied
    )
}

fn advice(error: &SqliteError) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds do not come from SQLite")]
    match kind_of(error) {
        StoreErrorKind::Full => "the disk is full; free some space",
        StoreErrorKind::ReadOnly => "the file or its file system is read-only; elections need to write",
        StoreErrorKind::Denied => "the file cannot be opened; check its permissions and those of its directory",
        StoreErrorKind::Unavailable => "other processes keep the file locked; try again",
        StoreErrorKind::Corrupt => {
            "the file or its -wal file is damaged, or not a database at all (`tenure doctor` tells more); restore both \
             from a backup, or stop all processes that use it and start with a new file"
        }
        _ => "SQLite reports an error",
    }
}
