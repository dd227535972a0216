//! Errors of jobs.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use tenure_core::JobName;
use tenure_core::jobs::{MAX_JOBS, Tick};

/// An error of a job. Other jobs go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobError {
    /// A run failed or panicked.
    Failed {
        /// The name of the job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// How it failed.
        why: String,
    },
    /// A run exceeded the timeout of its job.
    TimedOut {
        /// The name of the job.
        job: JobName,
        /// The tick.
        tick: Tick,
    },
    /// A blocking handler has not returned although its time is up.
    Stuck {
        /// The name of the job.
        job: JobName,
        /// The tick.
        tick: Tick,
    },
    /// The clock of this machine is ahead of the store's. Ticks follow the store's clock.
    ClockAhead {
        /// The difference.
        by: Duration,
    },
    /// A wrong clock has decided all ticks of a job up to one in the future. The job does not fire before then.
    MarkAhead {
        /// The name of the job.
        job: JobName,
        /// The last decided tick.
        mark: Tick,
    },
    /// The election has more jobs than a ledger keeps.
    TooMany,
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { job, tick, why } => write!(f, "job {job}, due {}, {why}", Shown(*tick)),
            Self::TimedOut { job, tick } => {
                write!(f, "job {job}, due {}, exceeded its timeout and was ended", Shown(*tick))
            }
            Self::Stuck { job, tick } => {
                write!(f, "job {job}, due {}, has not returned although its time is up", Shown(*tick))
            }
            Self::ClockAhead { by } => write!(
                f,
                "this machine's clock is {by:?} ahead of the store's, which jobs follow; synchronize it, for example with NTP"
            ),
            Self::MarkAhead { job, mark } => write!(
                f,
                "job {job} does not fire before {}, because a wrong clock has decided all ticks until then; \
                 reset it with `tenure cron forget`",
                Shown(*mark)
            ),
            Self::TooMany => write!(
                f,
                "the election has more than {MAX_JOBS} jobs, including former ones; remove some with `tenure cron forget`"
            ),
        }
    }
}

/// A tick as people read it.
struct Shown(Tick);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timestamp = i64::try_from(self.0.unix_s()).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
        match timestamp {
            Some(timestamp) => timestamp.fmt(f),
            None => self.0.fmt(f),
        }
    }
}
