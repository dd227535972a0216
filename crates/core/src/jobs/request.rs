//! What a leader asks of a ledger, and what it is told.

use std::sync::Arc;
use std::time::Duration;

use super::tick::Tick;
use crate::id::{CandidateId, JobName};
use crate::lease::{Nonce, Term};
use crate::request::ElectionKey;

/// How many jobs an election may have, those that are long gone from its configuration included.
pub const JOBS_MAX: usize = 1_000;

/// By how much a tick may be ahead of the store's wall clock and still be claimed. A leader whose clock is fast waits for
/// the store's.
pub const EARLY_MAX: Duration = Duration::from_secs(1);

/// Begin to lead: say which jobs there are, and hear what is decided already.
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
    /// When it is due, as text: of a job that is due at other times than before nothing was missed.
    pub schedule: Arc<str>,
    /// The present. Ticks up to it are not missed if the job is new, or is due at other times than before. The present of
    /// the store counts if that is earlier.
    pub from: Tick,
}

/// What became of an [`OpenJobs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// How each job stands, in the order of the request.
    Jobs(Vec<JobStanding>),
    /// There would be more than [`JOBS_MAX`] jobs. Nothing was changed.
    TooMany,
    /// Whoever asks does not hold the lease under this term now. Nothing was changed.
    NotHolder,
}

/// How a job stands when a leadership begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStanding {
    /// All ticks up to this one are decided.
    pub mark: Tick,
    /// The ticks of runs of earlier terms whose end was never told, the oldest first.
    pub interrupted: Vec<Tick>,
    /// The ticks that were claimed under earlier terms and [given back](RunOutcome::NotBegun), the oldest first.
    pub unbegun: Vec<Tick>,
    /// Whether somebody has [paused](JobOrder::Pause) it.
    pub is_paused: bool,
    /// When somebody asked for a [run now](JobOrder::RunNow) that nobody has begun yet.
    pub requested: Option<Tick>,
}

/// What somebody wants of a job, whoever leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobOrder {
    /// No tick of it is claimed until it is resumed. What comes due meanwhile is missed.
    Pause,
    /// Its ticks are claimed again.
    Resume,
    /// It is run once as soon as may be, beside its calendar. A tick that is claimed at the same second or later counts as that.
    RunNow,
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
    /// Which tick. All before it are decided with it.
    pub tick: Tick,
    /// What is decided.
    pub act: Act,
    /// How many ticks before it, or with it if it is not run, are left out. They count as [missed](JobReport::missed), or with
    /// [`Act::Skip`] as [skipped](JobReport::skipped).
    pub missed: u64,
}

/// What is decided of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// It is run, by whoever asks and nobody else.
    Run,
    /// It is run once more, if a leader of an earlier term has claimed it, and has never told its end or has
    /// [given it back](RunOutcome::NotBegun).
    RunAgain,
    /// It is passed over because it was missed.
    Pass,
    /// It is passed over for another reason: the last run still went on, or the job is not enabled.
    Skip,
}

impl Act {
    /// Whether a run follows from it.
    #[must_use]
    pub const fn is_run(self) -> bool {
        matches!(self, Self::Run | Self::RunAgain)
    }
}

/// What became of a [`Claim`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Claimed {
    /// As was asked. A run that this very nonce and term had claimed before, and whose end was not told, is granted again:
    /// that is how a leader finds a claim whose reply was lost.
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

/// Tell how a run ended. It needs no lease: whoever claimed the run may tell it, whoever leads by now.
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
    /// Which tick.
    pub tick: Tick,
    /// How long it ran, on the clock of whoever ran it.
    pub took: Duration,
    /// How often it was tried again.
    pub retries: u32,
    /// How it ended.
    pub outcome: RunOutcome,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RunOutcome {
    /// Well.
    Succeeded,
    /// With an error.
    Failed {
        /// Which one.
        why: String,
    },
    /// It took too long, and was ended.
    TimedOut,
    /// The leadership ended, and the run with it.
    Cancelled,
    /// It was claimed and never begun: the tick is given back, and a later leader may still run it. Only whoever knows
    /// that nothing of it was done tells this.
    NotBegun,
}

/// A job, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobReport {
    /// Its name.
    pub job: JobName,
    /// When it is due, as its last leader said.
    pub schedule: Arc<str>,
    /// All ticks up to this one are decided.
    pub mark: Tick,
    /// How often it has fired.
    pub fired: u64,
    /// How many ticks nobody fired because they were missed, those included that were [given back](RunOutcome::NotBegun) and not
    /// run since.
    pub missed: u64,
    /// How many ticks were passed over because a run went on, or because the job was not enabled.
    pub skipped: u64,
    /// Since when it is [paused](JobOrder::Pause), in milliseconds since the Unix epoch on the store's wall clock.
    pub paused_at_unix_ms: Option<u64>,
    /// When somebody asked for a [run now](JobOrder::RunNow) that nobody has begun yet.
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
    /// When it was claimed: milliseconds since the Unix epoch on the store's wall clock.
    pub began_at_unix_ms: u64,
    /// How it ended; `None` while it runs, or when its leader was gone before it ended.
    pub end: Option<RunEnd>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunEnd {
    /// When it was told: milliseconds since the Unix epoch on the store's wall clock.
    pub at_unix_ms: u64,
    /// How long it ran, on the clock of whoever ran it.
    pub took: Duration,
    /// How often it was tried again.
    pub retries: u32,
    /// How it ended.
    pub outcome: RunOutcome,
}
