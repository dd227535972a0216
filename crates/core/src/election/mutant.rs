//! Known mistakes, to be made on purpose: a proof that does not notice them proves nothing.
//!
//! They exist only in builds with `--cfg mutants`, which the simulation uses and nobody else. In every other build
//! [`Context::has`] is the constant `false`, and the branches behind it are gone.

use crate::election::context::Context;

#[cfg(mutants)]
use {
    crate::election::context::PendingRequest,
    crate::election::elector::Elector,
    crate::election::input::{CampaignReply, Reply},
    crate::election::output::{RequestId, Trust},
    crate::election::state::{Leading, State},
    crate::time::Instant,
    std::time::Duration,
};

/// A mistake that an elector can be made to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(mutants), allow(dead_code, unreachable_pub, reason = "it is public, and all of it used, with mutants"))]
pub enum Mutant {
    /// Trust is counted from when the answer came.
    TrustFromReply,
    /// The hold is the whole ttl, as if clocks ran alike.
    NoDriftMargin,
    /// The hold allows for a wrong clock here, but not for one in the store.
    OneSidedMargin,
    /// Work begins to stop when it should have stopped.
    GraceNotSubtracted,
    /// An answer to an attempt that was given up is taken for one to the attempt under way.
    LatestSend,
    /// A grant that comes after its attempt was given up begins a leadership.
    LateGrant,
    /// A grant that is delivered once more revives the term that was resigned.
    DuplicateGrant,
    /// The lease is released while the work is still stopping.
    ReleaseBeforeStop,
    /// Deadlines are looked at only when an alarm goes off, not when anything else comes first.
    NoRecheckAfterResume,
    /// Work gets its whole grace even when it should long have been killed.
    GraceAfterPause,
    /// A renewal that is not answered counts as done.
    SilenceIsConsent,
    /// A leader may try to renew for a while from each failure on, and not from its last success.
    WindowRestarts,
    /// The lease is kept alive although leadership was lost.
    RenewsAfterLoss,
    /// A term at or below one that was seen is accepted.
    AcceptsOldTerm,
    /// A candidate whose work does not end campaigns all the same.
    CampaignsBesideOwnWork,
    /// The nonce of a term that ended is used for the next candidacy.
    NonceKept,
    /// A candidate that hears nothing goes on campaigning, and so keeps a lease alive that it does not know of.
    CampaignsUnheard,
    /// A follower waits to be told that the lease is free.
    WaitsForHints,
    /// A follower sleeps for as long as the leader's lease lasts, and loses its place in line.
    OversleepsPlace,
    /// A few failures in a row end the candidacy.
    GivesUp,
    /// Leadership that was denied by the store ends without a word.
    SilentLoss,
    /// What failed is tried again at once, for ever.
    NoBackOff,
    /// Nobody may leave before the store has confirmed that the lease is released.
    WaitsForRelease,
}

#[cfg(not(mutants))]
impl Context {
    /// Whether this mistake is to be made.
    #[inline(always)]
    pub(crate) const fn has(&self, _: Mutant) -> bool {
        false
    }
}

#[cfg(mutants)]
impl Mutant {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::TrustFromReply,
        Self::NoDriftMargin,
        Self::OneSidedMargin,
        Self::GraceNotSubtracted,
        Self::LatestSend,
        Self::LateGrant,
        Self::DuplicateGrant,
        Self::ReleaseBeforeStop,
        Self::NoRecheckAfterResume,
        Self::GraceAfterPause,
        Self::SilenceIsConsent,
        Self::WindowRestarts,
        Self::RenewsAfterLoss,
        Self::AcceptsOldTerm,
        Self::CampaignsBesideOwnWork,
        Self::NonceKept,
        Self::CampaignsUnheard,
        Self::WaitsForHints,
        Self::OversleepsPlace,
        Self::GivesUp,
        Self::SilentLoss,
        Self::NoBackOff,
        Self::WaitsForRelease,
    ];
}

#[cfg(mutants)]
impl Context {
    /// Whether this mistake is to be made.
    pub(crate) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// The trust that somebody who makes this mistake would give to an answer.
    pub(crate) fn mistaken_trust(&self, sent_at: Instant) -> Option<Trust> {
        let timing = &self.candidate.timing;
        let rho = f64::from(timing.drift().ppb()) / 1e9;
        let (hold, late) = if self.has(Mutant::NoDriftMargin) {
            (timing.ttl(), Duration::ZERO)
        } else if self.has(Mutant::OneSidedMargin) {
            (timing.ttl().mul_f64(1.0 - rho), Duration::ZERO)
        } else if self.has(Mutant::GraceNotSubtracted) {
            (timing.hold(), timing.grace())
        } else {
            return None;
        };
        let until = sent_at + hold;
        let kill_at = until - timing.reaction() + late;
        Some(Trust { stop_at: kill_at - timing.grace(), kill_at, until })
    }
}

#[cfg(mutants)]
impl Elector {
    /// Makes this elector make a mistake.
    #[must_use]
    pub fn mutated(mut self, mutant: Mutant) -> Self {
        self.ctx.mutant = Some(mutant);
        self
    }

    /// Leads again under a grant that should count for nothing by now.
    pub(crate) fn revive(&mut self, state: &State, request: RequestId, reply: &Reply) -> Option<State> {
        let Reply::Campaign(Ok(CampaignReply::Granted { term })) = *reply else { return None };
        let ctx = &mut self.ctx;
        let (nonce, campaign) = ctx.campaigned?;
        let granted = match (ctx.mutant?, state) {
            (Mutant::LateGrant, State::Following(_)) => PendingRequest { id: request, sent_at: ctx.now },
            (Mutant::DuplicateGrant, State::Following(_) | State::Resigning(_)) if campaign.id == request => campaign,
            _ => return None,
        };
        if ctx.now >= ctx.trust_by(granted).stop_at {
            return None;
        }
        ctx.timers.clear_all_but_health();
        Some(Leading::begin(ctx, nonce, term, granted))
    }
}
