//! Store errors: the kind of failure, and the outcome of the write.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use tenure_core::{ElectionKey, WriteOutcome};

/// A failed store operation.
///
/// The message never carries credentials. The driver's own error is kept as the source.
#[derive(Debug, Clone)]
pub struct StoreError {
    kind: StoreErrorKind,
    write_outcome: WriteOutcome,
    message: Arc<str>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    damaged: Option<Arc<ElectionKey>>,
}

/// The kind of a [`StoreError`], for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store cannot be reached, or is too busy to answer in time.
    Unavailable,
    /// The store, its file or its disk does not take writes.
    ReadOnly,
    /// There is no room left.
    Full,
    /// The value is larger than the store can keep.
    TooLarge,
    /// The store does not offer this operation at all.
    Unsupported,
    /// The store was made by a newer version of tenure, or lacks a migration.
    Schema,
    /// The data in the store is damaged.
    Corrupt,
    /// Permission denied by the store.
    Denied,
    /// The store was replaced by another one.
    Replaced,
    /// The address or its options are invalid, or the file it names is not fit for elections.
    Configuration,
    /// The database, file or directory named by the address does not exist.
    Missing,
    /// No answer came in time.
    TimedOut,
    /// Anything else.
    Other,
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unavailable => "unavailable",
            Self::ReadOnly => "read-only",
            Self::Full => "full",
            Self::TooLarge => "too large",
            Self::Unsupported => "unsupported",
            Self::Schema => "wrong schema",
            Self::Corrupt => "corrupt",
            Self::Denied => "permission denied",
            Self::Replaced => "replaced",
            Self::Configuration => "configuration",
            Self::Missing => "missing",
            Self::TimedOut => "timed out",
            Self::Other => "other",
        })
    }
}

impl StoreError {
    /// Creates an error after which certainly nothing was written.
    pub fn refused(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self::new(kind, WriteOutcome::Refused, message)
    }

    /// Creates an error that occurred before anything was sent.
    pub fn not_sent(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self::new(kind, WriteOutcome::NotSent, message)
    }

    /// Creates an error after which it is unknown whether anything was written.
    pub fn unknown(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self::new(kind, WriteOutcome::Unknown, message)
    }

    /// Creates the error of a store that was replaced by another one: its answers about earlier leases do not count.
    pub fn replaced(message: impl Into<String>) -> Self {
        Self::new(StoreErrorKind::Replaced, WriteOutcome::Replaced, message)
    }

    /// Creates the error of a campaign whose grant must not be relied on. The candidate gives the lease back, and
    /// campaigns again under another nonce.
    pub fn unusable(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self::new(kind, WriteOutcome::Unusable, message)
    }

    /// Creates the error of a damaged record: the store holds data of this election that tenure never wrote; other
    /// elections are not affected. `place` is the store, and `what` names the key, or the table and row, and its
    /// content.
    pub fn damaged(place: &str, key: &ElectionKey, write_outcome: WriteOutcome, what: &str) -> Self {
        let ElectionKey { namespace, name } = key;
        let message = format!(
            "{place}: the record of election {name} in namespace {namespace} is damaged: {what}. Restore it from a backup, \
             or remove it with `tenure forget {name}`, which keeps its terms from falling; `tenure doctor` lists all \
             damaged records"
        );
        Self { damaged: Some(Arc::new(key.clone())), ..Self::new(StoreErrorKind::Corrupt, write_outcome, message) }
    }

    /// The election whose record is [damaged](Self::damaged), if nothing else is wrong.
    #[must_use]
    pub fn damaged_record(&self) -> Option<&ElectionKey> {
        self.damaged.as_deref()
    }

    /// Attaches the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// The outcome of the write.
    #[must_use]
    pub fn write_outcome(&self) -> WriteOutcome {
        self.write_outcome
    }

    fn new(kind: StoreErrorKind, write_outcome: WriteOutcome, message: impl Into<String>) -> Self {
        Self { kind, write_outcome, message: Arc::from(message.into()), source: None, damaged: None }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// Formats an error with all its causes. Causes that only repeat the message before them are left out.
///
/// ```
/// use std::io::{Error, ErrorKind};
///
/// let cause = Error::new(ErrorKind::StorageFull, "no space left on device");
/// let error = tenure::StoreError::refused(tenure::store::StoreErrorKind::Full, "cannot write").caused_by(cause);
/// assert_eq!(tenure::with_causes(&error), "cannot write: no space left on device");
/// ```
#[must_use]
pub fn with_causes(error: &dyn StdError) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |message, cause| {
        let cause = cause.to_string();
        if message.ends_with(&cause) { message } else { format!("{message}: {cause}") }
    })
}
