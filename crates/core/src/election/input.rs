//! Everything that can happen to an elector.

use std::fmt;
use std::time::Duration;

use crate::backoff::part_of;
use crate::election::output::RequestId;
use crate::id::CandidateId;
use crate::lease::{Leader, Nonce, Term};

/// An event for an elector. Pass it to [`Elector::handle`](crate::Elector::handle).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Input {
    /// Begin to stand in the election. Ignored when already standing.
    Start,
    /// The instant of the last [`Output::Timeout`](crate::Output::Timeout) has come.
    Timeout,
    /// The store answered a request, or will certainly not answer.
    Reply {
        /// The request that was answered.
        request: RequestId,
        /// The answer.
        reply: Reply,
    },
    /// Something may have changed in the store. May be late, lost, duplicated or wrong.
    Hint,
    /// Renewals of other elections are about to go to the same store: a leader halfway to its own renewal may join
    /// them.
    Opportunity,
    /// The application wants to hand over. Ignored unless leading.
    Resign {
        /// Only this term, if one is named: a resignation that was meant for an earlier one must not end a later one.
        term: Option<Term>,
        /// Who should lead next, if the application cares.
        successor: Option<CandidateId>,
    },
    /// All work under this term has ended. Ignored unless the work was told to stop.
    WorkEnded {
        /// The term the work ran under.
        term: Term,
    },
    /// The application reports whether it is healthy.
    Health {
        /// False makes a leader resign and keeps a follower from campaigning.
        healthy: bool,
    },
    /// Leave the election: stop the work, release the lease, then be silent.
    Stop,
}

/// A store's answer to one request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reply {
    /// To a campaign.
    Campaign(Result<CampaignReply, WriteOutcome>),
    /// To a renewal.
    Renew(Result<RenewReply, WriteOutcome>),
    /// To a resignation. Also `Ok` when there was nothing left to release.
    Resign(Result<(), WriteOutcome>),
}

/// The store's reply to a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CampaignReply {
    /// The lease is granted under this term, for a whole ttl from this request on. This also answers a campaign under
    /// a nonce that already holds the lease, whose ttl then starts over: that is how a lost reply is recovered.
    Granted {
        /// The new term.
        term: Term,
    },
    /// The lease is not available now.
    Held(Held),
}

/// A lease that another candidate holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Held {
    /// The leader; `None` while the lease is reserved for a successor.
    pub leader: Option<Leader>,
    /// The time until the lease, or the reservation, expires on the store's clock. Candidates do not ask again before
    /// that, unless hinted to: a store that does not know it gives the time to wait before asking again.
    pub remaining: Duration,
    /// The number of candidates that stand by before this one. The first campaigns the instant the lease expires; the
    /// others leave it a little time, so that a vacancy is not a stampede.
    pub rank: u32,
}

/// The store's reply to a renewal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RenewReply {
    /// The lease runs for another ttl.
    Renewed {
        /// Somebody asked the leader to hand over.
        handover: Option<Handover>,
    },
    /// This candidate no longer holds the lease.
    NotHolder {
        /// The term the store shows now, if it shows one.
        current: Option<Term>,
    },
}

/// An operator's request that the leader hand over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Handover {
    /// The candidate to hand over to, if it matters.
    pub successor: Option<CandidateId>,
}

/// The outcome of a request that was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WriteOutcome {
    /// The store refused: nothing was written.
    Refused,
    /// The request never left: nothing was written.
    NotSent,
    /// The outcome is unknown. It counts as possibly written.
    Unknown,
    /// The store was replaced by another one: its file was replaced, its data restored or flushed.
    Replaced,
    /// A campaign was granted, but the grant must not be relied on, for instance because too few copies of the store
    /// have it. The candidate gives it back, and campaigns again under another nonce: the store itself never resigns
    /// anything.
    Unusable,
}

impl fmt::Display for WriteOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused: nothing was written",
            Self::NotSent => "not sent: nothing was written",
            Self::Unknown => "unknown: it may have been written",
            Self::Replaced => "replaced: the store is not the one it was",
            Self::Unusable => "unusable: the grant must be given back",
        })
    }
}

/// Randomness as an argument: enough for one call of `handle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Draw {
    /// The nonce for a candidacy that starts in this call.
    pub nonce: Nonce,
    /// Used to spread timers: 0 means the earliest, `u32::MAX` the latest.
    pub spread: u32,
}

impl Draw {
    /// `span` scaled by the drawn fraction.
    pub(crate) fn part_of(self, span: Duration) -> Duration {
        part_of(span, self.spread)
    }
}
