//! Everything that can happen to an engine.

use std::sync::Arc;
use std::time::Duration;

use super::output::{CallId, RunId};
use crate::election::input::WriteOutcome;
use crate::jobs::outcome::RunOutcome;
use crate::jobs::policy::JobPolicy;
use crate::jobs::request::{Claimed, JobReport, Opened};
use crate::lease::{Nonce, Term};
use crate::time::Instant;

/// An event for an engine. Pass it to [`JobEngine::handle`](super::JobEngine::handle).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum JobInput<C> {
    /// The time of the last [`JobOutput::Timeout`](super::JobOutput::Timeout) has come, or leadership has ended.
    Timeout,
    /// The jobs were replaced by these. Runs in progress go on.
    Jobs(Vec<JobSpec<C>>),
    /// Leadership has begun.
    Elected {
        /// The nonce that owns the lease.
        nonce: Nonce,
        /// The new term.
        term: Term,
    },
    /// The work of the leadership has had its time, or none was left and the lease is released.
    Over,
    /// The ledger has answered a call.
    Reply {
        /// The id of the call.
        call: CallId,
        /// The answer.
        reply: LedgerReply,
    },
    /// Attempts have ended.
    RunsEnded(Vec<EndedAttempt>),
    /// The candidate has left the election for good: what the ledger has not been told is told once.
    Left,
}

/// A job, as its leader knows it.
#[derive(Debug, Clone)]
pub struct JobSpec<C> {
    /// The policy of the job.
    pub policy: JobPolicy,
    /// The calendar, which says when it is due.
    pub calendar: C,
    /// The calendar as text, for the ledger.
    pub schedule: Arc<str>,
    /// The time limit of an attempt.
    pub timeout: Option<Duration>,
}

/// The present, as the caller of [`JobEngine::handle`](super::JobEngine::handle) sees it, and randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobMoment {
    /// On the candidate's own clock. It never goes back.
    pub now: Instant,
    /// On the wall clock, in milliseconds since the Unix epoch. It may be set.
    pub unix_ms: u64,
    /// The term under which work may begin at this very moment.
    pub leads: Option<Term>,
    /// Used to spread retries: 0 means the earliest, `u32::MAX` the latest.
    pub spread: u32,
}

/// The reply of a ledger to a call, or the outcome of a call without one. Each request of a batch has its own, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerReply {
    /// To [`LedgerCall::List`](super::LedgerCall::List), without runs.
    Listed(Result<Vec<JobReport>, WriteOutcome>),
    /// To [`LedgerCall::Open`](super::LedgerCall::Open).
    Opened(Result<Opened, WriteOutcome>),
    /// To [`LedgerCall::Claim`](super::LedgerCall::Claim).
    Claimed(Vec<Result<Claimed, WriteOutcome>>),
    /// To [`LedgerCall::Finish`](super::LedgerCall::Finish): whether it is written down.
    Finished(Vec<Result<bool, WriteOutcome>>),
}

impl LedgerReply {
    /// Whether a tick is granted.
    pub(super) fn grants(&self) -> bool {
        matches!(self, Self::Claimed(replies) if replies.contains(&Ok(Claimed::Granted)))
    }
}

/// An attempt that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedAttempt {
    /// The id of the attempt.
    pub run: RunId,
    /// The duration of the attempt.
    pub took: Duration,
    /// The outcome.
    pub outcome: RunOutcome,
    /// Whether a retry makes sense if it failed.
    pub may_retry: bool,
}
