//! Errors of stores: what went wrong, and what became of the write.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use tenure_core::{ElectionKey, WriteOutcome};

/// An operation of a store that did not succeed.
///
/// The message never carries credentials. The driver's own error is kept as the source.
#[derive(Debug, Clone)]
pub struct StoreError {
    kind: StoreErrorKind,
    failure: WriteOutcome,
    message: Arc<str>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    damaged: Option<Arc<ElectionKey>>,
}

/// What went wrong, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store cannot be reached, or is too busy to answer in time.
    Unavailable,
    /// The store, its file or its disk does not take writes.
    ReadOnly,
    /// There is no room left.
    Full,
    /// What was to be kept is larger than the store can keep.
    TooLarge,
    /// The store does not offer this at all.
    Unsupported,
    /// The store was made by a newer version of tenure, or lacks a migration.
    Schema,
    /// The store's data make no sense.
    Corrupt,
    /// The store does not let us.
    Denied,
    /// The store is not the one it was.
    Replaced,
    /// The address or its options cannot be used, or the file that it names is not fit for elections.
    Configuration,
    /// There is no such thing as the address names: no such database, file or directory.
    Missing,
    /// No answer came in time.
    TimedOut,
    /// Anything else.
    Other,
}

impl StoreError {
    /// An error after which it is certain that nothing was written.
    pub fn refused(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self::new(kind, WriteOutcome::Refused, message)
    }

    /// An error before anything was sent.
    pub fn not_sent(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self::new(kind, WriteOutcome::NotSent, message)
    }

    /// An error after which nobody knows whether something was written.
    pub fn unknown(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self::new(kind, WriteOutcome::Unknown, message)
    }

    /// The store is not the one it was: nothing it says about earlier leases counts.
    pub fn replaced(message: impl Into<String>) -> Self {
        Self::new(StoreErrorKind::Replaced, WriteOutcome::Replaced, message)
    }

    /// A grant that must not be relied on, after a campaign. Whoever campaigned gives it back, and campaigns again under
    /// another nonce.
    pub fn unusable(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self::new(kind, WriteOutcome::Unusable, message)
    }

    /// The store keeps something of this election that tenure never wrote, and the others are as they should be. `place` is
    /// the store, and `what` says which key, or which row of which table, holds what.
    pub fn damaged(place: &str, key: &ElectionKey, failure: WriteOutcome, what: &str) -> Self {
        let ElectionKey { namespace, name } = key;
        let message = format!(
            "{place}: the record of election {name} in namespace {namespace} is damaged: {what}. Restore it from a backup, \
             or remove it with `tenure forget {name}`, by which its terms do not fall; `tenure doctor` finds all that are \
             damaged"
        );
        Self { damaged: Some(Arc::new(key.clone())), ..Self::new(StoreErrorKind::Corrupt, failure, message) }
    }

    /// The election whose record is [damaged](Self::damaged), if that is all that is wrong.
    #[must_use]
    pub fn damaged_record(&self) -> Option<&ElectionKey> {
        self.damaged.as_deref()
    }

    /// Keeps the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// What became of the write.
    #[must_use]
    pub fn failure(&self) -> WriteOutcome {
        self.failure
    }

    fn new(kind: StoreErrorKind, failure: WriteOutcome, message: impl Into<String>) -> Self {
        Self { kind, failure, message: Arc::from(message.into()), source: None, damaged: None }
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

/// An error with its causes: what it means for us, and what the system told us. A cause that only repeats what was said is
/// left out.
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
