//! Everything that can happen to an elector.

use std::time::Duration;

use crate::id::CandidateId;
use crate::lease::{Leader, Nonce, Term};
use crate::output::RequestId;

/// One thing that happened. Give it to [`Elector::handle`](crate::Elector::handle).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Input {
    /// Begin to stand in the election. Ignored when already standing.
    Start,
    /// The instant of the last [`Output::Timeout`](crate::Output::Timeout) has come.
    Timeout,
    /// The store answered a request, or it is known that it will not.
    Reply {
        /// The request that was answered.
        request: RequestId,
        /// What came back.
        reply: Reply,
    },
    /// Something may have changed in the store. May be late, lost, duplicated or wrong.
    Hint,
    /// Renewals of other elections are about to go to the same store: whoever is halfway to its own may join them.
    Opportunity,
    /// The application wants to hand over. Ignored unless leading.
    Resign {
        /// Only this term, if one is named: a resignation that was meant for an earlier one must not end a later one.
        term: Option<Term>,
        /// Who should lead next, if the application cares.
        successor: Option<CandidateId>,
    },
    /// All work under this term has ended. Ignored unless it was told to stop.
    WorkEnded {
        /// The term the work ran under.
        term: Term,
    },
    /// The application says whether it is well.
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

/// What became of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CampaignReply {
    /// The lease is ours, under this term, for a whole ttl from this request on. It also answers a campaign under a
    /// nonce that holds the lease already, whose ttl then begins anew: a reply that was lost is recognised by it.
    Granted {
        /// The new term.
        term: Term,
    },
    /// The lease is not to be had now.
    Held(Held),
}

/// A lease in other hands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Held {
    /// Who leads; nobody while the lease is reserved for a successor.
    pub leader: Option<Leader>,
    /// How long the lease, or the reservation, still runs on the store's clock. Nobody looks again before, unless
    /// hinted to: a store that cannot tell says how long it wants to be left in peace.
    pub remaining: Duration,
    /// How many candidates stand by before this one. The first is there the instant the lease runs out; the others
    /// give it a little time, so that a vacancy is not a stampede.
    pub rank: u32,
}

/// What became of a renewal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RenewReply {
    /// The lease runs for another ttl.
    Renewed {
        /// Somebody asked the leader to hand over.
        handover: Option<Handover>,
    },
    /// The lease is not ours any more.
    NotHolder {
        /// The term the store shows now, if it shows one.
        current: Option<Term>,
    },
}

/// An operator's request that the leader hand over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Handover {
    /// To whom, if it matters.
    pub successor: Option<CandidateId>,
}

/// Why there is no answer, and so what became of the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WriteOutcome {
    /// The store refused: nothing was written.
    Refused,
    /// The request never left: nothing was written.
    NotSent,
    /// Nobody knows. It counts as possibly written.
    Unknown,
    /// The store is not the one it was: its file was replaced, its data restored or flushed.
    Replaced,
    /// A campaign was granted, and the grant must not be relied on: too few copies of the store have it, say. Whoever
    /// campaigned gives it back, and campaigns again under another nonce: the store itself never resigns anything.
    Unusable,
}

/// Chance, as an argument: enough of it for one call of `handle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Draw {
    /// Used when this call begins a candidacy that needs a nonce of its own.
    pub nonce: Nonce,
    /// Used to spread timers: 0 means the earliest, `u32::MAX` the latest.
    pub spread: u32,
}

impl Draw {
    /// `span` scaled by the drawn fraction.
    pub(crate) fn part_of(self, span: Duration) -> Duration {
        span.mul_f64(f64::from(self.spread) / f64::from(u32::MAX))
    }
}
