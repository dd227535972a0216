//! The requests and reports of an elector.

use std::fmt;

use crate::id::CandidateId;
use crate::lease::{Leader, Nonce, Term};
use crate::time::Instant;

/// An action or a report of an elector. Taken from [`Elector::poll_output`](crate::Elector::poll_output).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Output {
    /// Nothing more for now: call `handle` with [`Input::Timeout`](crate::Input::Timeout) at this instant, or never
    /// when there is none.
    Timeout(Option<Instant>),
    /// Send this to the store and hand the reply back under the same id.
    Send(Request),
    /// Leadership began.
    Elected {
        /// The term to act under.
        term: Term,
        /// How long it may be acted under.
        trust: Trust,
    },
    /// Leadership was renewed.
    Trusted {
        /// The term, unchanged.
        term: Term,
        /// How long it may be acted under now.
        trust: Trust,
    },
    /// Leadership ended. The work must start to stop now, and [`Input::WorkEnded`](crate::Input::WorkEnded) is
    /// expected when it has.
    Lost {
        /// The term that ended.
        term: Term,
        /// The reason.
        reason: LossReason,
        /// When the work will be killed.
        kill_at: Instant,
    },
    /// The grace of this term is over: end its work by force.
    KillWork {
        /// The term.
        term: Term,
    },
    /// Another candidate leads, or none; reported on each change, and when the store answers again.
    Observed {
        /// The leader, if there is one.
        leader: Option<Leader>,
    },
    /// An anomaly that needs attention.
    Report(Anomaly),
    /// The elector has left the election. No output follows.
    Stopped,
}

/// Identifies one request of one elector; grows with every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A request to the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// The id, which comes back with the reply.
    pub id: RequestId,
    /// The verb, with its arguments.
    pub verb: Verb,
}

/// The store verbs an elector uses. Election, candidate, ttl, priority and metadata are known to its driver.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Take the lease if it is free; otherwise stand by and learn who holds it.
    Campaign {
        /// The nonce that owns the grant.
        nonce: Nonce,
    },
    /// Keep the lease.
    Renew {
        /// The nonce that owns the grant.
        nonce: Nonce,
        /// The exact term to renew.
        term: Term,
    },
    /// Release the lease and stand by no longer.
    Resign {
        /// The nonce that owns the grant.
        nonce: Nonce,
        /// The exact term to release. `None` when a campaign may have been granted without our hearing of it: then
        /// whatever this nonce owns is released.
        term: Option<Term>,
        /// The candidate that the lease is to be reserved for.
        successor: Option<CandidateId>,
        /// The reason, for the history.
        reason: LossReason,
    },
}

/// The window in which a term may be acted under, on the candidate's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Trust {
    /// Unless renewed before, leadership is lost here and work begins to stop.
    pub stop_at: Instant,
    /// Work that still runs is killed here.
    pub kill_at: Instant,
    /// From here on another candidate may lead.
    pub until: Instant,
}

impl Trust {
    /// Trust until then, without any time for work to stop: for tests of code that is handed one. An elector derives its
    /// own from its [`Timing`](crate::Timing).
    #[must_use]
    pub const fn ending_at(until: Instant) -> Self {
        Self { stop_at: until, kill_at: until, until }
    }
}

/// The reason why leadership ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LossReason {
    /// It could not be renewed in time.
    Expired,
    /// The store reports that another candidate holds the lease.
    Superseded,
    /// The store no longer knows the lease.
    Revoked,
    /// The application is unhealthy, or the code that ran its candidacy broke down.
    Unhealthy,
    /// An operator requested it.
    Requested,
    /// The application resigned.
    Resigned,
    /// The candidate left the election.
    Stopped,
    /// The store went back in time, or is another one.
    Regressed,
    /// The candidate never learned whether it was granted.
    Unheard,
    /// It was granted, but could not be relied on.
    Withdrawn,
    /// The leader's process died; another process released the lease once nothing of it was left.
    Crashed,
}

impl LossReason {
    /// Returns the word used in events, logs and histories.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Superseded => "superseded",
            Self::Revoked => "revoked",
            Self::Unhealthy => "unhealthy",
            Self::Requested => "requested",
            Self::Resigned => "resigned",
            Self::Stopped => "stopped",
            Self::Regressed => "regressed",
            Self::Unheard => "unheard",
            Self::Withdrawn => "withdrawn",
            Self::Crashed => "crashed",
        }
    }
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An anomaly of the store or of the work, which an operator should know of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Anomaly {
    /// The store shows a lower term than before: flushed, restored, or failed over to a stale copy.
    #[error(
        "the store shows term {shown} after it had shown term {seen}: it was flushed, restored or failed over to a stale \
         copy; leadership is refused until its terms are above {seen} again"
    )]
    Regressed {
        /// The highest term seen so far.
        seen: Term,
        /// The term it shows now.
        shown: Term,
    },
    /// The store reports that it was replaced by another one.
    #[error("the store was replaced by another one; giving up the leadership of term {term}")]
    Replaced {
        /// The term that was given up.
        term: Term,
    },
    /// Another process uses the same candidate id.
    #[error(
        "the lease is held by another process with the same candidate id {candidate:?} (or by an earlier run of this \
         one that has not expired); give every instance an id of its own"
    )]
    DuplicateId {
        /// The id.
        candidate: CandidateId,
    },
    /// The work did not end in time; its lease expired while it ran.
    #[error(
        "the work of term {term} still runs although its lease has ended: another leader may run beside it; this \
         instance does not campaign again until the work has ended"
    )]
    StuckWork {
        /// The term of the work.
        term: Term,
    },
}
