//! The one error of this crate.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{CandidateId, ElectionName, LossReason, NameError, Term, TimingError};

use crate::store::{StoreError, StoreErrorKind};

/// What can go wrong for the application. Errors of the store during a candidacy never end it: they are
/// [reported](crate::EventKind::Error) and survived.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name or an id breaks the rule for names.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The durations do not fit together.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// The metadata are larger than stores must keep.
    #[error("the metadata have {bytes} bytes, and at most {max} are allowed; publish less", max = Error::METADATA_BYTES_MAX)]
    Metadata {
        /// The size of all keys and values together.
        bytes: usize,
    },
    /// The store cannot keep leases as short as this.
    #[error("ttl {ttl:?} is shorter than the {min:?} this store can keep; choose a longer one")]
    TtlTooShort {
        /// The ttl that was asked for.
        ttl: Duration,
        /// The shortest the store can keep.
        min: Duration,
    },
    /// The payload of a message is no JSON.
    #[error("the payload is not JSON: {message}")]
    Json {
        /// What is wrong with it.
        message: String,
    },
    /// A job's cron expression or time zone cannot be used.
    #[cfg(feature = "cron")]
    #[error(transparent)]
    Schedule(#[from] crate::cron::ScheduleError),
    /// Two jobs of one election have the same name.
    #[cfg(feature = "cron")]
    #[error("two jobs of this election have the name {job}; the ledger could not tell them apart; rename one")]
    SameJob {
        /// The name.
        job: tenure_core::JobName,
    },
    /// The election has more jobs than a ledger keeps.
    #[cfg(feature = "cron")]
    #[error("this election has {count} jobs, and at most {max} are kept; spread them over several elections", max = tenure_core::jobs::JOBS_MAX)]
    TooManyJobs {
        /// How many.
        count: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Only a leader can do that.
    #[error("this candidate does not lead")]
    NotLeading,
    /// A resignation was to be waited for by what it waits for itself.
    #[error(
        "a callback, a handler or work of this candidacy cannot wait for a resignation, which waits for it to end; the \
         resignation has begun; call request_resign() there"
    )]
    WaitsForItself,
    /// The lock was not had in time.
    #[error("the lock {name} was not had within {waited:?}: {}; wait longer, or see who has it with `tenure status {name}`", held_by(holder.as_ref()))]
    LockBusy {
        /// The lock.
        name: ElectionName,
        /// Who holds it; `None` when it is reserved for whoever is next in line.
        holder: Option<CandidateId>,
        /// For how long it was waited for.
        waited: Duration,
    },
    /// The lock was lost before the work under it had ended.
    #[error(
        "the lock {name} was lost under term {term} ({}) before the work had ended: what the work did last may not have \
         been protected; let what it writes to check the term", reason.as_str()
    )]
    LockLost {
        /// The lock.
        name: ElectionName,
        /// The term that was lost.
        term: Term,
        /// Why.
        reason: LossReason,
    },
    /// The election was stopped, and with it everything that waits for it.
    #[error("this candidate has left the election")]
    Stopped,
    /// The thread that holds elections could not be started, or is gone.
    #[error("the thread that holds elections cannot run: {0}")]
    Driver(Arc<io::Error>),
}

/// The kind of an [`Error`], for programs and for bindings to other languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Something that was given cannot be used: a name, a duration, metadata, a payload, a schedule.
    Invalid,
    /// The store failed.
    Store,
    /// Only a leader can do that.
    NotLeading,
    /// What was to be waited for waits itself for whoever asked.
    WaitsForItself,
    /// The lock was not had in time.
    LockBusy,
    /// The lock was lost before the work under it had ended.
    LockLost,
    /// The election was stopped.
    Stopped,
    /// The machine does not let us run.
    Driver,
}

impl Error {
    /// The most metadata a candidate may publish, keys and values together.
    pub const METADATA_BYTES_MAX: usize = 4096;

    /// Which kind of error this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Name(_) | Self::Timing(_) | Self::Metadata { .. } | Self::TtlTooShort { .. } | Self::Json { .. } => {
                ErrorKind::Invalid
            }
            #[cfg(feature = "cron")]
            Self::Schedule(_) | Self::SameJob { .. } | Self::TooManyJobs { .. } => ErrorKind::Invalid,
            Self::Store(_) => ErrorKind::Store,
            Self::NotLeading => ErrorKind::NotLeading,
            Self::WaitsForItself => ErrorKind::WaitsForItself,
            Self::LockBusy { .. } => ErrorKind::LockBusy,
            Self::LockLost { .. } => ErrorKind::LockLost,
            Self::Stopped => ErrorKind::Stopped,
            Self::Driver(_) => ErrorKind::Driver,
        }
    }

    /// Nothing was heard from the store in all that time.
    pub(crate) fn silence(limit: Duration) -> Self {
        StoreError::unknown(StoreErrorKind::TimedOut, format!("the store did not answer within {limit:?}")).into()
    }
}

fn held_by(holder: Option<&CandidateId>) -> String {
    holder
        .map_or_else(|| "it is reserved for whoever is next in line".to_owned(), |holder| format!("{holder} holds it"))
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Driver(Arc::new(error))
    }
}
