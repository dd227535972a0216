//! The work has ended; the lease is being released.

use std::time::Duration;

use super::{Following, State, Then};
use crate::election::context::{Context, PendingRequest};
use crate::election::input::WriteOutcome;
use crate::election::mutant::Mutant;
use crate::election::output::{LossReason, Output, RequestId, Verb};
use crate::election::timer::Timer;
use crate::id::CandidateId;
use crate::lease::{Nonce, Term};

/// What is to be released.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Release {
    pub(super) nonce: Nonce,
    pub(super) term: Option<Term>,
    pub(super) successor: Option<CandidateId>,
    pub(super) reason: LossReason,
    /// Campaigns that have failed in a row up to here.
    pub(super) failures: u32,
}

/// A resignation is under way. It is tried a few times and never waited for long: the lease runs out anyway. Only where
/// it is to find out whether the store can be heard it goes on until it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Resigning {
    release: Release,
    /// `None` while a failed attempt backs off.
    pending: Option<PendingRequest>,
    attempts: u32,
    then: Then,
}

/// One attempt and one more: `stop` must return in a bounded time.
const MAX_ATTEMPTS: u32 = 2;

/// After a resignation others get this much time to take over before the one that resigned campaigns again. Longer
/// than a reservation, so that it does not race its own successor.
const COOL_DOWN: Duration = Duration::from_millis(1_200);

impl Release {
    /// Withdraws a nonce that the store may know, and campaigns again under another.
    pub(crate) fn withdraw(ctx: &mut Context, nonce: Nonce) -> State {
        Self { nonce, term: None, successor: None, reason: LossReason::Unheard, failures: 0 }.send(ctx, Then::Follow)
    }

    pub(super) fn send(self, ctx: &mut Context, then: Then) -> State {
        // What a follower waited for must not be taken for the end of a back-off.
        ctx.timers.clear_all_but_health();
        Resigning { release: self, pending: None, attempts: 0, then }.attempt(ctx)
    }

    /// Releases what may have been granted without our hearing of it, and campaigns again when that is answered. It goes
    /// on waiting longer and longer, after the campaigns that failed.
    pub(super) fn send_until_heard(self, ctx: &mut Context) -> State {
        ctx.timers.clear_all_but_health();
        let attempts = self.failures;
        Resigning { release: self, pending: None, attempts, then: Then::FollowOnceHeard }.failed(ctx)
    }
}

impl Resigning {
    pub(super) fn nonce(&self) -> Nonce {
        self.release.nonce
    }

    pub(crate) fn on_reply(mut self, ctx: &mut Context, request: RequestId, reply: Result<(), WriteOutcome>) -> State {
        if self.pending.take_if(|pending| pending.id == request).is_none() {
            return State::Resigning(self);
        }
        ctx.timers.clear(Timer::Attempt);
        match reply {
            Ok(()) => self.finish(ctx),
            Err(_) => self.failed(ctx),
        }
    }

    pub(crate) fn on_attempt_timer(mut self, ctx: &mut Context) -> State {
        self.pending = None;
        self.failed(ctx)
    }

    /// The back-off is over.
    pub(crate) fn on_campaign_timer(self, ctx: &mut Context) -> State {
        self.attempt(ctx)
    }

    pub(crate) fn on_stop(mut self) -> State {
        self.then = Then::Stop;
        State::Resigning(self)
    }

    fn attempt(mut self, ctx: &mut Context) -> State {
        self.attempts = self.attempts.saturating_add(1);
        let Release { nonce, term, ref successor, reason, .. } = self.release;
        self.pending = Some(ctx.send(Verb::Resign { nonce, term, successor: successor.clone(), reason }));
        State::Resigning(self)
    }

    fn failed(self, ctx: &mut Context) -> State {
        let timing = &ctx.candidate.timing;
        let longest = match self.then {
            Then::FollowOnceHeard => timing.renew_every(),
            Then::Follow | Then::Stop if self.attempts < MAX_ATTEMPTS => timing.max_retry(),
            Then::Follow | Then::Stop if ctx.has(Mutant::WaitsForRelease) => timing.max_retry(),
            Then::Follow | Then::Stop => return self.finish(ctx),
        };
        ctx.timers.set(Timer::Campaign, ctx.now + ctx.back_off(self.attempts, longest));
        State::Resigning(self)
    }

    fn finish(self, ctx: &mut Context) -> State {
        if self.then == Then::Stop {
            return leave(ctx);
        }
        stand_again(ctx, self.release.reason, self.release.failures)
    }
}

/// Begins a new candidacy after a term that ended for this reason, and after so many campaigns that failed in a row.
pub(super) fn stand_again(ctx: &mut Context, reason: LossReason, failures: u32) -> State {
    let delay = match reason {
        // Nothing was given away on purpose.
        LossReason::Expired
        | LossReason::Superseded
        | LossReason::Revoked
        | LossReason::Unheard
        | LossReason::Crashed => Duration::ZERO,
        // The store could not do what it is there for.
        LossReason::Withdrawn => ctx.back_off(failures, ctx.candidate.timing.renew_every()),
        // The store has to climb above the terms it forgot; there is no hurry to help it.
        LossReason::Regressed => ctx.jittered(ctx.candidate.timing.renew_every()),
        LossReason::Unhealthy | LossReason::Requested | LossReason::Resigned | LossReason::Stopped => COOL_DOWN,
    };
    Following::afresh(ctx, delay, failures)
}

/// The end of a candidacy, or of a lease that cannot be released.
pub(super) fn leave(ctx: &mut Context) -> State {
    ctx.timers.clear_all_but_health();
    ctx.timers.clear(Timer::Health);
    ctx.emit(Output::Stopped);
    State::Stopped
}
