//! The error type of this crate.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    CandidateId, ChannelName, ElectionName, LossReason, NameError, PriorityError, Term, TimingError, WriteOutcome,
};

use crate::store::{StoreError, StoreErrorKind};

/// An error that is returned to the application.
///
/// Store errors during a candidacy never end it: they are [reported](crate::EventKind::Error), and the candidate tries again.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name or an id breaks the rule for names.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A priority is out of range.
    #[error(transparent)]
    Priority(#[from] PriorityError),
    /// The durations do not fit together.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// The metadata are too large.
    #[error("the metadata take {bytes} bytes; at most {max} are allowed; publish less", max = Error::MAX_METADATA_BYTES)]
    Metadata {
        /// The size of all keys and values together.
        bytes: usize,
    },
    /// The ttl is shorter than the store's minimum.
    #[error("ttl {ttl:?} is shorter than this store's minimum of {min:?}; choose a longer one")]
    TtlTooShort {
        /// The requested ttl.
        ttl: Duration,
        /// The store's minimum.
        min: Duration,
    },
    /// A limit is zero, which nothing can keep.
    #[error("{what} is zero, which nothing can keep; give a greater value, or leave it out")]
    Zero {
        /// What was set to zero.
        what: String,
    },
    /// Two handlers of one candidacy are for the same channel.
    #[error(
        "two handlers of this candidacy are for the channel {channel}, and only one could be called; do both in one handler, or \
         use two channels"
    )]
    SameChannel {
        /// The name of the channel.
        channel: ChannelName,
    },
    /// The payload of a message is not JSON.
    #[error("the payload is not JSON: {message}")]
    Json {
        /// The parser's message.
        message: String,
    },
    /// A job's cron expression or time zone cannot be used.
    #[cfg(feature = "cron")]
    #[error(transparent)]
    Schedule(#[from] crate::cron::ScheduleError),
    /// Two jobs of one election have the same name.
    #[cfg(feature = "cron")]
    #[error("two jobs of this election are named {job}, and the ledger could not tell them apart; rename one")]
    SameJob {
        /// The name.
        job: tenure_core::JobName,
    },
    /// The election has more jobs than a ledger keeps.
    #[cfg(feature = "cron")]
    #[error("this election has {count} jobs; at most {max} are allowed; spread them over several elections", max = tenure_core::jobs::MAX_JOBS)]
    TooManyJobs {
        /// The number of jobs.
        count: usize,
    },
    /// The store failed or did not answer, or cannot be used as it was asked to: [`kind`](Self::kind) tells the two apart.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The candidate does not lead, and only a leader can do this.
    #[error("this candidate does not lead the election")]
    NotLeading,
    /// A callback, a handler or work of the candidacy tried to wait for a resignation that waits for it to end.
    #[error(
        "a callback, handler or work of this candidacy cannot wait for a resignation, which waits for it to end; the \
         resignation has begun; call request_resign() there instead"
    )]
    WaitsForItself,
    /// Waiting for the lock timed out.
    #[error("timed out after {waited:?} waiting for lock {name}, {}; wait longer, or see its holder with `tenure status {name}`", held_by(holder.as_ref()))]
    LockBusy {
        /// The name of the lock.
        name: ElectionName,
        /// The holder; `None` when the lock is reserved for the next candidate in line.
        holder: Option<CandidateId>,
        /// The time spent waiting.
        waited: Duration,
    },
    /// The lock was lost before the work under it ended.
    #[error(
        "lock {name} was lost under term {term} ({}) before the work ended, and the last steps of the work may not have \
         been protected; have the resources it writes to check the term", reason.as_str()
    )]
    LockLost {
        /// The name of the lock.
        name: ElectionName,
        /// The term that was lost.
        term: Term,
        /// The reason.
        reason: LossReason,
    },
    /// The candidacy was stopped, and with it every wait for it.
    #[error("this candidate has left the election")]
    Stopped,
    /// The election thread could not be started, or is gone.
    #[error("the election thread cannot run: {0}")]
    Driver(Arc<io::Error>),
}

/// The kind of an [`Error`], for programs and for bindings to other languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is invalid: a name, a duration, metadata, a payload, a schedule, the address of a store. The same call fails
    /// again.
    Invalid,
    /// The store failed or did not answer. The same call may succeed later.
    Store,
    /// The candidate does not lead.
    NotLeading,
    /// The caller tried to wait for its own end.
    WaitsForItself,
    /// Waiting for the lock timed out.
    LockBusy,
    /// The lock was lost before the work under it ended.
    LockLost,
    /// The candidacy was stopped.
    Stopped,
    /// The election thread cannot run on this machine.
    Driver,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "invalid",
            Self::Store => "store",
            Self::NotLeading => "not leading",
            Self::WaitsForItself => "waits for itself",
            Self::LockBusy => "lock busy",
            Self::LockLost => "lock lost",
            Self::Stopped => "stopped",
            Self::Driver => "driver",
        })
    }
}

impl Error {
    /// Maximum size of a candidate's metadata, keys and values together.
    pub const MAX_METADATA_BYTES: usize = 4096;

    /// Returns the kind of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Name(_)
            | Self::Priority(_)
            | Self::Timing(_)
            | Self::Metadata { .. }
            | Self::TtlTooShort { .. }
            | Self::Zero { .. }
            | Self::SameChannel { .. }
            | Self::Json { .. } => ErrorKind::Invalid,
            #[cfg(feature = "cron")]
            Self::Schedule(_) | Self::SameJob { .. } | Self::TooManyJobs { .. } => ErrorKind::Invalid,
            Self::Store(error) if is_callers_fault(error) => ErrorKind::Invalid,
            Self::Store(_) => ErrorKind::Store,
            Self::NotLeading => ErrorKind::NotLeading,
            Self::WaitsForItself => ErrorKind::WaitsForItself,
            Self::LockBusy { .. } => ErrorKind::LockBusy,
            Self::LockLost { .. } => ErrorKind::LockLost,
            Self::Stopped => ErrorKind::Stopped,
            Self::Driver(_) => ErrorKind::Driver,
        }
    }

    /// The store did not answer within the limit.
    pub(crate) fn silence(limit: Duration) -> Self {
        StoreError::unknown(StoreErrorKind::TimedOut, format!("the store did not answer within {limit:?}")).into()
    }
}

/// Whether a store could not even be asked, because of its address or its options, or was given more than it can keep. What a
/// server or a file system has said (that there is no such database, say) is not meant: the same call may do later.
fn is_callers_fault(error: &StoreError) -> bool {
    let is_not_sent = error.write_outcome() == WriteOutcome::NotSent;
    error.kind() == StoreErrorKind::TooLarge || (error.kind() == StoreErrorKind::Configuration && is_not_sent)
}

fn held_by(holder: Option<&CandidateId>) -> String {
    holder.map_or_else(|| "reserved for the next candidate in line".to_owned(), |holder| format!("held by {holder}"))
}

impl From<Infallible> for Error {
    /// Lets functions that take a name also take one that was checked before.
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Driver(Arc::new(error))
    }
}
