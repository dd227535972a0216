//! Leadership is lost; the work is stopping. The lease is released only when it has.

use super::{Leading, Release, State, Then};
use crate::election::context::Context;
use crate::election::elector::Unreleased;
use crate::election::mutant::Mutant;
use crate::election::output::{Anomaly, LossReason, Output};
use crate::election::timer::Timer;
use crate::id::CandidateId;
use crate::lease::{Nonce, Term};
use crate::time::Instant;

/// Waits for the work to end. Sends nothing: the hold that is left covers the grace, because leadership is given up
/// no later than a grace and a reaction before its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Draining {
    nonce: Nonce,
    term: Term,
    reason: LossReason,
    successor: Option<CandidateId>,
    trusted_until: Instant,
    then: Then,
    /// The store lost the lease. It is told all the same when the work has ended, because it may let nobody lead before.
    is_replaced: bool,
}

impl Draining {
    /// Ends leadership; work is killed at `kill_at`, which may have passed already (after a pause, say).
    pub(super) fn by(
        ctx: &mut Context,
        leading: &Leading,
        reason: LossReason,
        kill_at: Instant,
        successor: Option<CandidateId>,
        then: Then,
    ) -> State {
        let Leading { nonce, term, trust, .. } = *leading;
        ctx.timers.clear_all_but_health();
        ctx.emit(Output::Lost { term, reason, kill_at });
        let draining = Self { nonce, term, reason, successor, trusted_until: trust.until, then, is_replaced: false };
        draining.wait(ctx, kill_at)
    }

    fn wait(self, ctx: &mut Context, kill_at: Instant) -> State {
        if ctx.now >= kill_at {
            ctx.emit(Output::KillWork { term: self.term });
        } else {
            ctx.timers.set(Timer::Kill, kill_at);
        }
        // After a pause all of this is long past. The surroundings still get a moment to say that the work has ended,
        // as it has where a guard of its own ends it.
        ctx.timers.set(Timer::Lapse, self.trusted_until.max(ctx.now + ctx.candidate.timing.reaction()));
        if ctx.has(Mutant::ReleaseBeforeStop) {
            return self.release(ctx);
        }
        #[cfg(mutants)]
        if ctx.has(Mutant::RenewsAfterLoss) {
            return self.on_renew_timer(ctx);
        }
        State::Draining(self)
    }

    pub(super) fn nonce(&self) -> Nonce {
        self.nonce
    }

    /// Ends leadership without grace: somebody else may lead already.
    pub(super) fn at_once(ctx: &mut Context, leading: &Leading, reason: LossReason) -> State {
        Self::by(ctx, leading, reason, ctx.now, None, Then::Follow)
    }

    /// The same when the store is not the one it was.
    pub(super) fn replaced(ctx: &mut Context, leading: &Leading) -> State {
        let mut state = Self::at_once(ctx, leading, LossReason::Regressed);
        if let State::Draining(draining) = &mut state {
            draining.is_replaced = true;
        }
        state
    }

    /// Goes on after a breakdown: leadership ends now, or has ended already. Work gets its grace, and no more than is left.
    pub(crate) fn resumed(ctx: &mut Context, lease: Unreleased) -> State {
        let Unreleased { nonce, term, trust, is_lost } = lease;
        let (reason, then) = (LossReason::Unhealthy, Then::Follow);
        let kill_at = (ctx.now + ctx.candidate.timing.grace()).min(trust.kill_at);
        if !is_lost {
            ctx.emit(Output::Lost { term, reason, kill_at });
        }
        Self { nonce, term, reason, successor: None, trusted_until: trust.until, then, is_replaced: false }
            .wait(ctx, kill_at)
    }

    /// No renewal follows a loss, unless by mistake.
    #[cfg(mutants)]
    pub(crate) fn on_renew_timer(self, ctx: &mut Context) -> State {
        ctx.send(crate::election::output::Verb::Renew { nonce: self.nonce, term: self.term });
        ctx.timers.clear(Timer::Attempt);
        ctx.timers.set(Timer::Renew, ctx.now + ctx.candidate.timing.renew_every());
        State::Draining(self)
    }

    pub(crate) fn on_kill_timer(self, ctx: &mut Context) -> State {
        ctx.emit(Output::KillWork { term: self.term });
        State::Draining(self)
    }

    /// The lease is over and the work still runs. Campaigning again would run two of it in one process.
    pub(crate) fn on_lapse_timer(self, ctx: &mut Context) -> State {
        ctx.emit(Output::Report(Anomaly::StuckWork { term: self.term }));
        match self.then {
            Then::Stop => super::resigning::leave(ctx),
            Then::Follow | Then::FollowOnceHeard if ctx.has(Mutant::CampaignsBesideOwnWork) => {
                super::resigning::stand_again(ctx, self.reason, 0)
            }
            Then::Follow | Then::FollowOnceHeard => State::Draining(self),
        }
    }

    pub(crate) fn on_work_ended(self, ctx: &mut Context, term: Term) -> State {
        if term != self.term {
            return State::Draining(self);
        }
        ctx.timers.clear_all_but_health();
        if !self.may_release(ctx.now) {
            return match self.then {
                Then::Stop => super::resigning::leave(ctx),
                Then::Follow | Then::FollowOnceHeard => super::resigning::stand_again(ctx, self.reason, 0),
            };
        }
        self.release(ctx)
    }

    pub(crate) fn on_stop(mut self, ctx: &mut Context) -> State {
        self.then = Then::Stop;
        if ctx.now >= self.trusted_until {
            return super::resigning::leave(ctx);
        }
        State::Draining(self)
    }

    fn release(self, ctx: &mut Context) -> State {
        let Self { nonce, term, successor, then, .. } = self;
        // Whoever lost its lease with the store was not overtaken by anybody, and has no reason to hold back.
        let reason = if self.is_replaced { LossReason::Revoked } else { self.reason };
        Release { nonce, term: Some(term), successor, reason, failures: 0 }.send(ctx, then)
    }

    /// Only what is still ours is released.
    fn may_release(&self, now: Instant) -> bool {
        match self.reason {
            LossReason::Regressed if self.is_replaced => now < self.trusted_until,
            LossReason::Superseded | LossReason::Revoked | LossReason::Regressed => false,
            LossReason::Expired
            | LossReason::Unhealthy
            | LossReason::Requested
            | LossReason::Resigned
            | LossReason::Stopped
            | LossReason::Unheard
            | LossReason::Withdrawn
            | LossReason::Crashed => now < self.trusted_until,
        }
    }
}
