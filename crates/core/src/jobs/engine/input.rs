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

/// One thing that happened. Give it to [`JobEngine::handle`](super::JobEngine::handle).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum JobInput<C> {
    /// The time of the last [`JobOutput::Timeout`](super::JobOutput::Timeout) has come, or leadership has ended.
    Timeout,
    /// These jobs from now on. Runs that go on are not concerned.
    Jobs(Vec<JobSpec<C>>),
    /// Leadership has begun.
    Elected {
        /// Owns the lease.
        nonce: Nonce,
        /// The new term.
        term: Term,
    },
    /// The work of the leadership has had its time, or none was left and the lease is released.
    Over,
    /// The ledger has answered a call.
    Reply {
        /// Which one.
        call: CallId,
        /// What came back.
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
    /// What it wants.
    pub policy: JobPolicy,
    /// When it is due.
    pub calendar: C,
    /// The same as text, for the ledger.
    pub schedule: Arc<str>,
    /// How long an attempt may take.
    pub timeout: Option<Duration>,
}

/// The present, as it shows to whoever calls [`JobEngine::handle`](super::JobEngine::handle), and some chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobMoment {
    /// On the candidate's own clock. It never goes back.
    pub now: Instant,
    /// On the wall clock, in milliseconds since the Unix epoch. It may be set.
    pub unix_ms: u64,
    /// The term under which work may begin at this very moment.
    pub leads: Option<Term>,
    /// Used to spread what is tried again: 0 means the earliest, `u32::MAX` the latest.
    pub spread: u32,
}

/// What a ledger has said to a call, or what became of it. Each of a batch has an answer of its own, in the same order.
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
    /// Which one.
    pub run: RunId,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub outcome: RunOutcome,
    /// Whether there is any use in trying it again, should it have failed.
    pub may_retry: bool,
}
