//! Requests of a leader to a ledger, and the replies.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::outcome::RunOutcome;
use super::tick::Tick;
use crate::id::{CandidateId, JobName};
use crate::lease::{Nonce, Term};
use crate::request::ElectionKey;

/// The maximum number of jobs of an election, including those that are gone from its configuration.
pub const MAX_JOBS: usize = 1_000;

/// The maximum lead of a tick over the store's wall clock at which it can be claimed. A leader whose clock is fast
/// waits for the store's.
pub const MAX_EARLY: Duration = Duration::from_secs(1);

/// Begins a leadership: registers the jobs, and asks which ticks are already decided.
#[derive(Debug, Clone)]
pub struct OpenJobs {
    /// The election.
    pub key: ElectionKey,
    /// The nonce that owns the lease.
    pub nonce: Nonce,
    /// The exact term.
    pub term: Term,
    /// The jobs.
    pub jobs: Vec<OpenJob>,
}

/// A job as its leader knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenJob {
    /// The name of the job.
    pub job: JobName,
    /// The schedule as text: if it changed, nothing counts as missed.
    pub schedule: Arc<str>,
    /// The present. Ticks up to it are not missed if the job is new or its schedule has changed. If the store's clock
    /// is earlier, that counts.
    pub from: Tick,
}

/// The reply to an [`OpenJobs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// The state of each job, in the order of the request.
    Jobs(Vec<OpenedJob>),
    /// There would be more than [`MAX_JOBS`] jobs. Nothing was changed.
    TooMany,
    /// The sender does not hold the lease under this term now. Nothing was changed.
    NotHolder,
}

/// The state of a job when a leadership begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedJob {
    /// All ticks up to this one are decided.
    pub mark: Tick,
    /// The ticks of runs of earlier terms whose outcome was never reported, the oldest first.
    pub interrupted: Vec<Tick>,
    /// The ticks that were claimed under earlier terms and [given back](RunOutcome::NotBegun), the oldest first.
    pub unbegun: Vec<Tick>,
    /// Whether the job is [paused](JobOrder::Pause).
    pub is_paused: bool,
    /// The time of a request for a [run now](JobOrder::RunNow) that has not started yet.
    pub requested: Option<Tick>,
}

/// An operator's order about a job, whichever candidate leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobOrder {
    /// No tick is claimed until the job is resumed. Ticks that come due in the meantime are missed.
    Pause,
    /// The ticks of the job are claimed again.
    Resume,
    /// The job runs once as soon as possible, in addition to its calendar. A tick claimed in the same second or later counts
    /// as this run.
    RunNow,
}

impl fmt::Display for JobOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl JobOrder {
    /// The name of the order, as in requests to servers and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::RunNow => "run-now",
        }
    }
}

/// Decides a tick.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The election.
    pub key: ElectionKey,
    /// The nonce that owns the lease.
    pub nonce: Nonce,
    /// The exact term.
    pub term: Term,
    /// The leader: a label, for people.
    pub candidate: CandidateId,
    /// The job.
    pub job: JobName,
    /// The tick. All ticks before it are decided with it.
    pub tick: Tick,
    /// The decision.
    pub act: Act,
    /// The number of ticks before it (or including it, if it is not run) that are left out. They count as
    /// [missed](JobReport::missed), or with [`Act::Skip`] as [skipped](JobReport::skipped).
    pub missed: u64,
}

/// The decision on a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// Run it; only the claimer may.
    Run,
    /// Run it once more, if a leader of an earlier term has claimed it, and has never reported its outcome or has
    /// [given it back](RunOutcome::NotBegun).
    RunAgain,
    /// Pass over it because it was missed.
    Pass,
    /// Pass over it for another reason: the previous run is still going, or the job is disabled.
    Skip,
}

impl Act {
    /// Returns whether a run follows.
    #[must_use]
    pub const fn is_run(self) -> bool {
        matches!(self, Self::Run | Self::RunAgain)
    }
}

/// The reply to a [`Claim`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Claimed {
    /// Granted. A run that this very nonce and term had claimed before, and whose outcome was not reported, is granted
    /// again: that is how a leader recovers a claim whose reply was lost.
    Granted,
    /// The tick was decided before.
    Decided {
        /// All ticks up to this one are decided.
        mark: Tick,
    },
    /// The tick is ahead of the store's clock by more than [`MAX_EARLY`].
    Early {
        /// The lead.
        by: Duration,
    },
    /// The job is [paused](JobOrder::Pause). Nothing was decided.
    Paused,
    /// The job was not opened.
    Unopened,
    /// The sender does not hold the lease under this term now.
    NotHolder,
}

/// Reports the outcome of a run. Needs no lease: the claimer of the run may report it even if another candidate leads
/// by now.
#[derive(Debug, Clone)]
pub struct Finish {
    /// The election.
    pub key: ElectionKey,
    /// The nonce under which the run was claimed.
    pub nonce: Nonce,
    /// The term.
    pub term: Term,
    /// The job.
    pub job: JobName,
    /// The tick.
    pub tick: Tick,
    /// The duration of the run, on the clock of the process that ran it.
    pub took: Duration,
    /// The number of retries.
    pub retries: u32,
    /// The outcome.
    pub outcome: RunOutcome,
}

/// A report on a job, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobReport {
    /// The name of the job.
    pub job: JobName,
    /// The schedule, as reported by the last leader.
    pub schedule: Arc<str>,
    /// All ticks up to this one are decided.
    pub mark: Tick,
    /// The number of ticks that fired.
    pub fired: u64,
    /// The number of ticks that did not fire because they were missed, including those [given
    /// back](RunOutcome::NotBegun) and not run since.
    pub missed: u64,
    /// The number of ticks passed over because a run was going, because a later one replaced them while they waited for its
    /// end, or because the job was disabled.
    pub skipped: u64,
    /// The start of the present [pause](JobOrder::Pause), as the store keeps it: in milliseconds since the Unix epoch on the
    /// store's wall clock. [`paused_at`](Self::paused_at) is the time for people.
    pub paused_at_unix_ms: Option<u64>,
    /// The time of a request for a [run now](JobOrder::RunNow) that has not started yet.
    pub requested: Option<Tick>,
    /// The latest runs, newest first.
    pub runs: Vec<RunReport>,
}

/// A report on a run, for people.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunReport {
    /// The tick.
    pub tick: Tick,
    /// The term.
    pub term: Term,
    /// The candidate that ran it.
    pub candidate: CandidateId,
    /// The time of the claim, as the store keeps it: in milliseconds since the Unix epoch on the store's wall clock.
    /// [`began_at`](Self::began_at) is the time for people.
    pub began_at_unix_ms: u64,
    /// The end of the run; `None` while it runs, or if its leader went away before it ended.
    pub end: Option<RunEnd>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunEnd {
    /// The time of the report, as the store keeps it: in milliseconds since the Unix epoch on the store's wall clock.
    /// [`at`](Self::at) is the time for people.
    pub at_unix_ms: u64,
    /// The duration of the run, on the clock of the process that ran it.
    pub took: Duration,
    /// The number of retries.
    pub retries: u32,
    /// The outcome.
    pub outcome: RunOutcome,
}
