//! Requests to a store, and the replies.

use std::fmt;
use std::time::Duration;

use crate::election::candidate::Priority;
use crate::election::output::LossReason;
use crate::id::{CandidateId, ElectionName, Namespace};
use crate::lease::{Leader, Metadata, Nonce, Term};

/// An election inside its namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElectionKey {
    /// The namespace.
    pub namespace: Namespace,
    /// The name within it.
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
    /// The lifetime of the lease.
    pub ttl: Duration,
    /// Its priority.
    pub priority: Priority,
    /// The metadata to publish.
    pub metadata: Metadata,
    /// How long the candidate counts as standing by without another campaign. Zero: it only asks, and does not stand
    /// by.
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
    /// The lifetime of the lease from now.
    pub ttl: Duration,
}

/// Release the lease.
#[derive(Debug, Clone)]
pub struct Resign {
    /// In which election.
    pub key: ElectionKey,
    /// Owns the grant.
    pub nonce: Nonce,
    /// The exact term; `None` for any that this nonce owns.
    pub term: Option<Term>,
    /// The candidate to reserve the lease for.
    pub successor: Option<CandidateId>,
    /// For the history.
    pub reason: LossReason,
}

/// The present state of an election.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observation {
    /// The lease that runs, if one does.
    pub lease: Option<Lease>,
    /// The highest term ever granted.
    pub last_term: Option<Term>,
    /// The candidate that the lease is reserved for, if any.
    pub reserved_for: Option<CandidateId>,
    /// Who stands by, the next one first.
    pub standing_by: Vec<StandBy>,
}

/// A lease that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The holder.
    pub leader: Leader,
    /// The term it is held under; `None` if its holder draws no terms.
    pub term: Option<Term>,
    /// The time until it expires unless renewed; `None` if only its holder knows.
    pub remaining: Option<Duration>,
    /// Its lifetime when renewed; `None` if only its holder knows.
    pub ttl: Option<Duration>,
}

/// A candidate that stands by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandBy {
    /// Its label.
    pub candidate: CandidateId,
    /// Its priority.
    pub priority: Priority,
    /// Since when, as the store keeps it: milliseconds since the Unix epoch on the store's wall clock.
    /// [`since`](Self::since) is the time for people.
    pub since_unix_ms: u64,
}

/// One line of an election's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// When, as the store keeps it: milliseconds since the Unix epoch on the store's wall clock. [`at`](Self::at) is the time
    /// for people.
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
#[non_exhaustive]
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

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
