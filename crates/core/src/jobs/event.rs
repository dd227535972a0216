//! The events about jobs that an engine reports.

use std::fmt;
use std::time::Duration;

use super::outcome::RunOutcome;
use super::policy::Passed;
use super::tick::Tick;
use crate::id::JobName;

/// An event of a tick of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobEvent {
    /// It fired.
    Fired {
        /// How late it was, if that is more than the job allows.
        late: Option<Duration>,
        /// How many ticks before it were missed, and passed over with it.
        missed: u64,
        /// Whether it is the run of an earlier leader once more, which was cut off.
        again: bool,
    },
    /// It was passed over.
    Passed {
        /// How many ticks, with all before it that were.
        count: u64,
        /// Why.
        why: Passed,
    },
    /// Its run failed, and will be retried.
    Retrying {
        /// How often it will have been tried again then.
        retry: u32,
        /// How long until then.
        after: Duration,
        /// What it said.
        why: String,
    },
    /// Its run has ended.
    Ended {
        /// How long its attempts took, without the waits between them.
        took: Duration,
        /// How.
        outcome: RunOutcome,
    },
}

impl fmt::Display for JobEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fired { again: true, .. } => f.write_str("fired again: its first run was cut off"),
            Self::Fired { late: Some(late), .. } => write!(f, "fired {late:?} late"),
            Self::Fired { .. } => f.write_str("fired"),
            Self::Passed { count, why } => write!(f, "{count} tick(s) passed over: {why}"),
            Self::Retrying { retry, after, why } => write!(f, "{why}; retry {retry} in {after:?}"),
            Self::Ended { took, outcome } => write!(f, "{outcome} after {took:?}"),
        }
    }
}

/// An anomaly of jobs that people should know of. The other jobs go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobAnomaly {
    /// A run has not ended although its time is over.
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
    /// A wrong clock has decided all ticks of a job up to one in the future. Nothing fires before then.
    MarkAhead {
        /// Which job.
        job: JobName,
        /// Up to which tick.
        mark: Tick,
    },
    /// The election has more jobs than a ledger keeps.
    TooMany,
    /// The ledger did not answer in time.
    Unanswered,
}
