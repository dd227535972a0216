//! One tick that was asked for, and everything that is known of it.

use std::time::Duration;

use super::output::RunId;
use crate::jobs::outcome::RunOutcome;
use crate::jobs::policy::Passed;
use crate::jobs::request::Act;
use crate::jobs::tick::Tick;
use crate::lease::{Nonce, Term};
use crate::time::Instant;

/// Which tick, and under which leadership.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TickKey {
    pub(super) term: Term,
    /// The place of its job.
    pub(super) job: usize,
    pub(super) tick: Tick,
}

/// A tick that is to be run, is running or has run.
#[derive(Debug, Clone)]
pub(super) struct TickRecord {
    /// Claims it, together with the term.
    pub(super) nonce: Nonce,
    pub(super) stage: TickStage,
}

/// How far a tick has come.
///
/// ```diagram
///  Asked --------> Running <--> Resting
///   |  ^              |            |
///   v  |              v            v
///  Doubtful -----> Unreported <--> Doubted
///                     |
///                     v
///                  GivenBack, or forgotten
/// ```
#[derive(Debug, Clone)]
pub(super) enum TickStage {
    /// Its claim is under way.
    Asked {
        /// So was one before, and nobody knows what became of it.
        was_doubtful: bool,
    },
    /// Nobody knows whether it was claimed, because the answer was lost.
    Doubtful,
    /// It was claimed, and an attempt goes on.
    Running { run: RunId, details: AttemptDetails, limit: RunStage, deadline: Option<Instant> },
    /// The attempt has failed, and the next one begins then.
    Resting { details: AttemptDetails, why: String, until: Instant },
    /// It has ended, or is given back, and the ledger has not confirmed that it knows.
    Unreported(UnreportedEnd),
    /// It is given back, and the ledger did not know it: its claim may still be on its way.
    Doubted { tell_at: Instant, end: UnreportedEnd },
    /// It was given back, and is not begun under this term any more: telling so may be under way once more.
    GivenBack,
}

/// What is known of a run while it is tried.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptDetails {
    pub(super) again: bool,
    pub(super) late: Option<Duration>,
    pub(super) missed: u64,
    pub(super) retries: u32,
    /// How long the attempts took that have ended.
    pub(super) took: Duration,
}

/// How much time an attempt still has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunStage {
    /// Enough.
    Allowed,
    /// It was told to stop.
    Told,
    /// It is being ended by force.
    Overdue,
}

/// The end of a run that the ledger has not been told.
#[derive(Debug, Clone)]
pub(super) struct UnreportedEnd {
    pub(super) took: Duration,
    pub(super) retries: u32,
    pub(super) outcome: RunOutcome,
    /// Those with lower numbers are told first.
    pub(super) turn: u64,
    /// Whether the lease is kept until it is told.
    pub(super) holds_lease: bool,
    /// After its leadership it does not matter for ever.
    pub(super) until: Option<Instant>,
    /// Until then its claim may still be on its way to the ledger, which does not know it yet.
    pub(super) doubt_until: Option<Instant>,
}

/// What is to be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlannedClaim {
    /// The place of its job.
    pub(super) job: usize,
    pub(super) tick: Tick,
    pub(super) act: Act,
    /// Whether an earlier leader may have begun it.
    pub(super) again: bool,
    /// How many ticks are left out with it.
    pub(super) missed: u64,
    pub(super) late: Option<Duration>,
    /// How many ticks are passed over, and why, unless it is run.
    pub(super) passed: Option<(u64, Passed)>,
}

impl TickRecord {
    /// Whether the lease has to be kept for it.
    pub(super) fn holds_lease(&self) -> bool {
        match &self.stage {
            TickStage::Asked { .. } | TickStage::Doubtful | TickStage::Running { .. } | TickStage::Resting { .. } => {
                true
            }
            TickStage::Unreported(end) => end.holds_lease,
            TickStage::Doubted { .. } | TickStage::GivenBack => false,
        }
    }

    /// Whether it goes on, as far as its job is concerned.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage, TickStage::Running { .. } | TickStage::Resting { .. })
    }

    /// Whether it will no longer begin under its term.
    pub(super) fn is_given_back(&self) -> bool {
        match &self.stage {
            TickStage::Unreported(end) | TickStage::Doubted { end, .. } => end.outcome == RunOutcome::NotBegun,
            TickStage::GivenBack => true,
            TickStage::Asked { .. } | TickStage::Doubtful | TickStage::Running { .. } | TickStage::Resting { .. } => {
                false
            }
        }
    }

    /// When something has to be done about it, whatever else happens.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.stage {
            TickStage::Running { deadline, .. } => *deadline,
            TickStage::Resting { until, .. } => Some(*until),
            TickStage::Asked { .. }
            | TickStage::Doubtful
            | TickStage::Unreported(_)
            | TickStage::Doubted { .. }
            | TickStage::GivenBack => None,
        }
    }

    /// When the ledger is to be told of it, if it is.
    pub(super) fn tell_at(&self) -> Option<Instant> {
        match &self.stage {
            TickStage::Unreported(_) => Some(Instant::ZERO),
            TickStage::Doubted { tell_at, .. } => Some(*tell_at),
            TickStage::Asked { .. }
            | TickStage::Doubtful
            | TickStage::Running { .. }
            | TickStage::Resting { .. }
            | TickStage::GivenBack => None,
        }
    }
}
