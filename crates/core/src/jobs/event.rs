//! What an engine tells of jobs.

use std::time::Duration;

use super::policy::Passed;
use super::request::RunOutcome;
use super::tick::Tick;
use crate::id::JobName;

/// What happened to a tick of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobEvent {
    /// It fired.
    Fired {
        /// By how much it was late, if that is more than the job puts up with.
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
    /// Its run has failed, and is tried again.
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
        /// How long it took.
        took: Duration,
        /// How.
        outcome: RunOutcome,
    },
}

/// Something about jobs that people should know of. The other jobs go on.
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
    /// All ticks of a job are decided up to one in the future: a clock has been wrong. Until then nothing fires.
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
