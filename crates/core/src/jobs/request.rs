//! Requests of a leader to a ledger, and the replies.

use std::sync::Arc;
use std::time::Duration;

use super::outcome::RunOutcome;
use super::tick::Tick;
use crate::id::{CandidateId, JobName};
use crate::lease::{Nonce, Term};
use crate::request::ElectionKey;

/// The maximum number of jobs of an election, including those that are gone from its configuration.
pub const JOBS_MAX: usize = 1_000;

/// The maximum lead of a tick over the store's wall clock at which it can be claimed. A leader whose clock is fast
/// waits for the store's.
pub const EARLY_MAX: Duration = Duration::from_secs(1);

/// Begins a leadership: registers the jobs, and asks which ticks are already decided.
#[derive(Debug, Clone)]
pub struct OpenJobs {
    /// In which election.
    pub key: ElectionKey,
    /// Owns the lease.
    pub nonce: Nonce,
    /// The exact term.
    pub term: Term,
    /// The jobs.
    pub jobs: Vec<OpenJob>,
}

/// A job as its leader knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenJob {
    /// Its name.
    pub job: JobName,
    /// The schedule as text: if it changed, nothing counts as missed.
    pub schedule: Arc<str>,
    /// The present. Ticks up to it are not missed if the job is new or its schedule has changed. If the store's clock
    /// is earlier, that counts.
    pub from: Tick,
}

/// What became of an [`OpenJobs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// The state of each job, in the order of the request.
    Jobs(Vec<JobStanding>),
    /// There would be more than [`JOBS_MAX`] jobs. Nothing was changed.
    TooMany,
    /// Whoever asks does not hold the lease under this term now. Nothing was changed.
    NotHolder,
}

/// The state of a job when a leadership begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStanding {
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
    /// No tick is claimed until the job is resumed. Ticks that come due meanwhile are missed.
    Pause,
    /// Its ticks are claimed again.
    Resume,
    /// It is run once as soon as may be, beside its calendar. A tick that is claimed at the same second or later counts as that.
    RunNow,
}

impl JobOrder {
    /// The word used in requests to servers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::RunNow => "run-now",
        }
    }
}

/// Decide a tick.
#[derive(Debug, Clone)]
pub struct Claim {
    /// In which election.
    pub key: ElectionKey,
    /// Owns the lease.
    pub nonce: Nonce,
    /// The exact term.
    pub term: Term,
    /// Who leads: a label, for people.
    pub candidate: CandidateId,
    /// Of which job.
    pub job: JobName,
    /// The tick. All ticks before it are decided with it.
    pub tick: Tick,
    /// What is decided.
    pub act: Act,
    /// The number of ticks before it (or including it, if it is not run) that are left out. They count as
    /// [missed](JobReport::missed), or with [`Act::Skip`] as [skipped](JobReport::skipped).
    pub missed: u64,
}

/// What is decided of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// Run it; only the claimer may.
    Run,
    /// Run it once more, if a leader of an earlier term has claimed it, and has never reported its outcome or has
    /// [given it back](RunOutcome::NotBegun).
    RunAgain,
    /// Pass over it because it was missed.
    Pass,
    /// It is passed over for another reason: the last run still went on, or the job is not enabled.
    Skip,
}

impl Act {
    /// Whether a run follows.
    #[must_use]
    pub const fn is_run(self) -> bool {
        matches!(self, Self::Run | Self::RunAgain)
    }
}

/// What became of a [`Claim`].
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
    /// The tick is ahead of the store's clock by more than [`EARLY_MAX`].
    Early {
        /// By how much.
        by: Duration,
    },
    /// The job is [paused](JobOrder::Pause). Nothing was decided.
    Paused,
    /// The job was not opened.
    Unopened,
    /// Whoever asks does not hold the lease under this term now.
    NotHolder,
}

/// Reports the outcome of a run. Needs no lease: the claimer of the run may report it even if another candidate leads
/// by now.
#[derive(Debug, Clone)]
pub struct Finish {
    /// In which election.
    pub key: ElectionKey,
    /// Claimed the run.
    pub nonce: Nonce,
    /// Under which term.
    pub term: Term,
    /// Of which job.
    pub job: JobName,
    /// The tick.
    pub tick: Tick,
    /// How long it ran, on the clock of the process that ran it.
    pub took: Duration,
    /// The number of retries.
    pub retries: u32,
    /// The outcome.
    pub outcome: RunOutcome,
}

/// A job, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobReport {
    /// Its name.
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
    /// Its latest runs, the newest first.
    pub runs: Vec<RunReport>,
}

/// A run, for people.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunReport {
    /// For which tick.
    pub tick: Tick,
    /// Under which term.
    pub term: Term,
    /// By whom.
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
    /// How long it ran, on the clock of the process that ran it.
    pub took: Duration,
    /// The number of retries.
    pub retries: u32,
    /// The outcome.
    pub outcome: RunOutcome,
}
