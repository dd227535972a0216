//! Waiting for the moment to campaign.

use std::time::Duration;

use super::{Campaigning, Release, State, Then};
use crate::election::context::Context;
use crate::election::input::Held;
use crate::election::mutant::Mutant;
use crate::election::output::LossReason;
use crate::election::timer::Timer;
use crate::election::timing::Timing;
use crate::lease::Nonce;
use crate::store_rules::record::{RESERVATION, looks_after};
use crate::time::Instant;

/// No request is under way. `Timer::Campaign` says when to ask; it is unset only when that moment came while the
/// application was unwell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Following {
    /// Of all campaigns until one is granted, so that a grant whose reply was lost is recognised.
    pub(super) nonce: Nonce,
    /// Campaigns that failed in a row, also under earlier nonces.
    pub(super) failures: u32,
    /// Those of them that a hint had made come early.
    pub(super) vain_hints: u32,
    /// The next campaign comes early because of a hint.
    pub(super) is_hinted: bool,
    /// Campaigns in a row of which nobody knows what became of them.
    pub(super) unheard: u32,
    /// Whether the store may know this nonce: standing by, or even granted.
    pub(super) known_to_store: bool,
    /// Hints are not followed before: others go first, or a look has only just led to nothing.
    pub(super) hints_from: Instant,
}

/// Hints, or looks, that keep leading to nothing are followed at most this often.
pub(super) const HINT_GAP: Duration = Duration::from_millis(10);

impl Following {
    pub(crate) fn nonce(&self) -> Nonce {
        self.nonce
    }

    /// Begins a candidacy of its own, under a fresh nonce, after `delay`, which no hint cuts short. The store does not
    /// get more patience for a new nonce: campaigns that failed in a row are counted on.
    pub(crate) fn afresh(ctx: &mut Context, delay: Duration, failures: u32) -> State {
        let following = Self {
            nonce: ctx.fresh_nonce(),
            failures,
            vain_hints: 0,
            is_hinted: false,
            unheard: 0,
            known_to_store: false,
            hints_from: ctx.now + delay,
        };
        following.wait(ctx, delay)
    }

    /// Waits; a priority below the highest waits a little longer. With nothing to wait for, campaigns at once.
    pub(super) fn wait(mut self, ctx: &mut Context, delay: Duration) -> State {
        self.is_hinted = false;
        let delay = delay + ctx.candidate.priority.delay();
        if delay.is_zero() && ctx.healthy {
            return Campaigning::send(ctx, self);
        }
        ctx.timers.set(Timer::Campaign, ctx.now + delay);
        State::Following(self)
    }

    /// Sleeps until the lease that others hold runs out, on time and not in a crowd.
    pub(super) fn wait_for(self, ctx: &mut Context, held: &Held) -> State {
        let timing = &ctx.candidate.timing;
        let stagger = match &held.leader {
            // As if it had been woken: the next after the successor comes first.
            None => looks_after(held.rank).saturating_sub(RESERVATION).min(RESERVATION),
            Some(_) if held.rank == 0 => Duration::ZERO,
            Some(_) => timing.min_stagger() + ctx.draw.part_of(timing.min_stagger()),
        };
        // Whoever is not heard of for longer loses its place in line, however long the leader's lease may be. And a clock
        // that is wrong by years must not make us wait for years.
        let remaining =
            if ctx.has(Mutant::OversleepsPlace) { held.remaining } else { held.remaining.min(timing.ttl()) };
        // A store may count down to zero and still keep the lease for a while (etcd: half a second).
        if ctx.has(Mutant::WaitsForHints) {
            return State::Following(self);
        }
        self.wait(ctx, (remaining + Timing::QUANTUM).max(HINT_GAP) + stagger)
    }

    /// The moment has come. Unwell candidates let it pass.
    pub(crate) fn on_campaign_timer(self, ctx: &mut Context) -> State {
        if ctx.healthy { Campaigning::send(ctx, self) } else { State::Following(self) }
    }

    /// Something may have changed: look now, but not in a tight loop.
    pub(crate) fn on_hint(mut self, ctx: &mut Context) -> State {
        self.is_hinted = true;
        ctx.timers.at_latest(Timer::Campaign, self.hints_from.max(ctx.now) + ctx.candidate.priority.delay());
        State::Following(self)
    }

    /// The application became well. The moment to campaign may have passed meanwhile; if not, it is still to come.
    pub(crate) fn on_recovery(self, ctx: &mut Context) -> State {
        let at = ctx.timers.get(Timer::Campaign).unwrap_or(ctx.now);
        ctx.timers.set(Timer::Campaign, at);
        State::Following(self)
    }

    /// Leaves. The store is told, so that nothing is reserved for a candidate that is gone.
    pub(crate) fn on_stop(self, ctx: &mut Context) -> State {
        if !self.known_to_store {
            return super::resigning::leave(ctx);
        }
        let Self { nonce, failures, .. } = self;
        Release { nonce, term: None, successor: None, reason: LossReason::Stopped, failures }.send(ctx, Then::Stop)
    }
}
