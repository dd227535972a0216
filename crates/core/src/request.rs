//! What is asked of a store, and what it tells.

use std::fmt;
use std::time::Duration;

use crate::candidate::Priority;
use crate::id::{CandidateId, ElectionName, Namespace};
use crate::lease::{Leader, Metadata, Nonce, Term};
use crate::output::LossReason;

/// An election inside its namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElectionKey {
    /// The namespace.
    pub namespace: Namespace,
    /// The name inside it.
    pub name: ElectionName,
}

impl fmt::Display for ElectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Take the lease, or stand by.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// In which election.
    pub key: ElectionKey,
    /// For whom: a label.
    pub candidate: CandidateId,
    /// Owns the grant, and identifies the stand-by.
    pub nonce: Nonce,
    /// How long the lease runs.
    pub ttl: Duration,
    /// Its priority.
    pub priority: Priority,
    /// What it publishes about itself.
    pub metadata: Metadata,
    /// How long it counts as standing by if nothing more is heard of it. Zero: it does not stand by, only asks.
    pub stand_by_for: Duration,
}

/// Keep the lease.
#[derive(Debug, Clone)]
pub struct Renew {
    /// In which election.
    pub key: ElectionKey,
    /// Owns the grant.
    pub nonce: Nonce,
    /// The exact term.
    pub term: Term,
    /// How long the lease runs from now.
    pub ttl: Duration,
}

/// Release the lease.
#[derive(Debug, Clone)]
pub struct Resign {
    /// In which election.
    pub key: ElectionKey,
    /// Owns the grant.
    pub nonce: Nonce,
    /// The exact term; `None` for whatever this nonce owns.
    pub term: Option<Term>,
    /// For whom to reserve it.
    pub successor: Option<CandidateId>,
    /// For the history.
    pub reason: LossReason,
}

/// An election as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observation {
    /// The lease that runs, if one does.
    pub lease: Option<Lease>,
    /// The highest term ever granted.
    pub last_term: Option<Term>,
    /// For whom the lease is reserved, if it is.
    pub reserved_for: Option<CandidateId>,
    /// Who stands by, the next one first.
    pub standing_by: Vec<StandBy>,
}

/// A lease that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub leader: Leader,
    /// The term it is held under; none if its holder takes part without drawing terms.
    pub term: Option<Term>,
    /// How long it still runs unless renewed; none where only its holder knows.
    pub remaining: Option<Duration>,
    /// How long it runs when renewed; none where only its holder knows.
    pub ttl: Option<Duration>,
}

/// A candidate that would lead if it could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandBy {
    /// Its label.
    pub candidate: CandidateId,
    /// Its priority.
    pub priority: Priority,
    /// Since when: milliseconds since the Unix epoch on the store's wall clock. For people only.
    pub since_unix_ms: u64,
}

/// One line of an election's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// When: milliseconds since the Unix epoch on the store's wall clock. For people only.
    pub at_unix_ms: u64,
    /// Under which term.
    pub term: Term,
    /// Whose leadership.
    pub candidate: CandidateId,
    /// Began or ended.
    pub change: Change,
    /// Why: a word such as `granted`, `resigned`, `expired` or `died`.
    pub reason: String,
}

/// What a [`Transition`] was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Leadership began.
    Elected,
    /// Leadership ended.
    Lost,
}

impl Change {
    /// The word used in events and histories.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Elected => "elected",
            Self::Lost => "lost",
        }
    }
}
