//! Everything that an engine wants done.

use std::time::Duration;

use crate::id::JobName;
use crate::jobs::event::{JobAnomaly, JobEvent};
use crate::jobs::request::{Claim, Finish, OpenJobs};
use crate::jobs::tick::Tick;
use crate::lease::Term;
use crate::request::ElectionKey;
use crate::time::Instant;

/// One thing to do. Get it from [`JobEngine::poll_output`](super::JobEngine::poll_output).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum JobOutput {
    /// Ask the ledger. There is one call at a time: whatever was asked before is not waited for any more.
    Call {
        /// What its answer is given back under.
        id: CallId,
        /// What is asked.
        call: LedgerCall,
    },
    /// Begin an attempt, under a lease that is held. If that cannot be done, it has ended.
    Begin(JobAttempt),
    /// Tell an attempt that it has taken too long and has to stop.
    Stop {
        /// Which one.
        run: RunId,
    },
    /// End an attempt by force: it has had the time to stop.
    Kill {
        /// Which one.
        run: RunId,
    },
    /// Keep the lease of this term from being released, as work does. Attempts that begin meanwhile keep it as well, each until
    /// it has ended.
    Hold {
        /// Which term.
        term: Term,
    },
    /// Do not keep it any longer.
    Release {
        /// Which term.
        term: Term,
    },
    /// Tell what happened to a tick.
    Event {
        /// Of which job.
        job: JobName,
        /// Which tick.
        tick: Tick,
        /// What.
        event: JobEvent,
    },
    /// Tell people.
    Report(JobAnomaly),
    /// The ledger says that somebody else holds the lease. The elector finds out whether it is so.
    Hint,
    /// All is told that will be, after [`JobInput::Left`](super::JobInput::Left). Nothing follows.
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

/// What is asked of a ledger.
#[derive(Debug, Clone)]
pub enum LedgerCall {
    /// Name the jobs of this election that are known. Their runs do not matter.
    List(ElectionKey),
    /// Make jobs known, and hear how they stand.
    Open(OpenJobs),
    /// Decide ticks.
    Claim(Vec<Claim>),
    /// Tell how runs ended.
    Finish(Vec<Finish>),
}

/// An attempt that is to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobAttempt {
    /// Which one.
    pub run: RunId,
    /// Of which job.
    pub job: JobName,
    /// For which tick.
    pub tick: Tick,
    /// Under which term.
    pub term: Term,
    /// How often the run was tried before under this term.
    pub retries: u32,
    /// How many ticks before it are passed over with it because they were missed.
    pub missed: u64,
    /// How much later it is than the calendar wants, if that is more than the job puts up with.
    pub late: Option<Duration>,
    /// Whether an earlier leader has begun this run, and was gone before it ended.
    pub again: bool,
}
