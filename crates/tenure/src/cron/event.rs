//! What goes wrong with jobs.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use tenure_core::JobName;
use tenure_core::jobs::{JOBS_MAX, Tick};

/// What went wrong with a job. The others go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobError {
    /// A run failed, or panicked.
    Failed {
        /// Of which job.
        job: JobName,
        /// For which tick.
        tick: Tick,
        /// What it said.
        why: String,
    },
    /// A run took longer than the job allows.
    TimedOut {
        /// Of which job.
        job: JobName,
        /// For which tick.
        tick: Tick,
    },
    /// A blocking handler has not returned although its time is over.
    Stuck {
        /// Of which job.
        job: JobName,
        /// For which tick.
        tick: Tick,
    },
    /// The clock of this machine is ahead of the store's. Ticks fire by the store's.
    ClockAhead {
        /// By how much.
        by: Duration,
    },
    /// All ticks of a job are decided up to one in the future: a clock has been wrong. Until then nothing fires.
    MarkAhead {
        /// Which job.
        job: JobName,
        /// Up to which tick.
        mark: Tick,
    },
    /// The election has more jobs than a ledger keeps.
    TooMany,
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { job, tick, why } => write!(f, "job {job}, due {}, {why}", Shown(*tick)),
            Self::TimedOut { job, tick } => write!(f, "job {job}, due {}, took too long and was ended", Shown(*tick)),
            Self::Stuck { job, tick } => {
                write!(f, "job {job}, due {}, has not returned although its time is over", Shown(*tick))
            }
            Self::ClockAhead { by } => write!(
                f,
                "this machine's clock is {by:?} ahead of the store's; jobs fire by the store's; set the clock, for example by NTP"
            ),
            Self::MarkAhead { job, mark } => write!(
                f,
                "job {job} does not fire before {}, because a clock that was wrong has decided all ticks until then; \
                 `tenure cron forget` lets it begin anew",
                Shown(*mark)
            ),
            Self::TooMany => write!(
                f,
                "the election has more than {JOBS_MAX} jobs, those included that it had once; forget some with `tenure cron \
                 forget`"
            ),
        }
    }
}

/// A tick, for people.
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
