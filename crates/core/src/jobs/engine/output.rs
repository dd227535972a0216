//! Everything that an engine wants done.

use std::time::Duration;

use crate::id::JobName;
use crate::jobs::event::{JobAnomaly, JobEvent};
use crate::jobs::request::{Claim, Finish, OpenJobs};
use crate::jobs::tick::Tick;
use crate::lease::Term;
use crate::request::ElectionKey;
use crate::time::Instant;

/// An action or a report of an engine. Taken from [`JobEngine::poll_output`](super::JobEngine::poll_output).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum JobOutput {
    /// Ask the ledger. There is one call at a time: this one replaces any call before it.
    Call {
        /// The id to hand the answer back under.
        id: CallId,
        /// The call.
        call: LedgerCall,
    },
    /// Begin an attempt, under a lease that is held. If that cannot be done, it has ended.
    Begin(JobAttempt),
    /// Tell an attempt that it has taken too long and has to stop.
    Stop {
        /// The id of the attempt.
        run: RunId,
    },
    /// End an attempt by force: it has had the time to stop.
    Kill {
        /// The id of the attempt.
        run: RunId,
    },
    /// Keep the lease of this term from being released, as work does. Attempts that begin meanwhile keep it as well, each until
    /// it has ended.
    Hold {
        /// The term.
        term: Term,
    },
    /// Stop keeping it.
    Release {
        /// The term.
        term: Term,
    },
    /// Report an event of a tick.
    Event {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// The event.
        event: JobEvent,
    },
    /// Report an anomaly to people.
    Report(JobAnomaly),
    /// The ledger says that another candidate holds the lease. The elector finds out whether that is so.
    Hint,
    /// Everything has been reported after [`JobInput::Left`](super::JobInput::Left). Nothing follows.
    Finished,
    /// Nothing more for now. Call again then, with [`JobInput::Timeout`](super::JobInput::Timeout).
    Timeout(JobAlarm),
}

/// When to call again: at the first of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobAlarm {
    /// When the candidate's own clock shows this. If it does already, others may have their turn first.
    pub at: Option<Instant>,
    /// When the wall clock shows this, in milliseconds since the Unix epoch.
    pub unix_ms: Option<u64>,
}

/// Identifies a call, for one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// Identifies an attempt of a run, for one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u64);

/// A call to a ledger.
#[derive(Debug, Clone)]
pub enum LedgerCall {
    /// List the known jobs of this election, without their runs.
    List(ElectionKey),
    /// Register jobs, and learn their state.
    Open(OpenJobs),
    /// Decide ticks.
    Claim(Vec<Claim>),
    /// Report how runs ended.
    Finish(Vec<Finish>),
}

/// An attempt to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobAttempt {
    /// The id of the attempt.
    pub run: RunId,
    /// The job.
    pub job: JobName,
    /// The tick.
    pub tick: Tick,
    /// The term.
    pub term: Term,
    /// The number of earlier attempts under this term.
    pub retries: u32,
    /// The number of missed ticks before it that are passed over with it.
    pub missed: u64,
    /// How late the run is, if that is more than the job allows.
    pub late: Option<Duration>,
    /// Whether an earlier leader began this run and was gone before it ended.
    pub again: bool,
}
