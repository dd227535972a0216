//! Leading: renew, and know when to stop.

use super::following::HINT_GAP;
use super::{Draining, State, Then};
use crate::election::context::{Context, PendingRequest};
use crate::election::input::{RenewReply, WriteOutcome};
use crate::election::mutant::Mutant;
use crate::election::output::{Anomaly, LossReason, Output, RequestId, Trust, Verb};
use crate::election::timer::Timer;
use crate::id::CandidateId;
use crate::lease::{Nonce, Term};
use crate::time::Instant;

/// Holds the lease, as far as it can know, until `trust.stop_at`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Leading {
    pub(super) nonce: Nonce,
    pub(super) term: Term,
    pub(super) trust: Trust,
    pending: Option<PendingRequest>,
    /// Renewals that failed in a row.
    failures: u32,
    /// When the last campaign or renewal was sent.
    asked_at: Instant,
    /// A hint came during a renewal: what is being answered may be old.
    look_again: bool,
}

impl Leading {
    pub(crate) fn begin(ctx: &mut Context, nonce: Nonce, term: Term, granted: PendingRequest) -> State {
        let trust = ctx.trust_by(granted);
        let asked_at = granted.sent_at;
        let leading = Self { nonce, term, trust, pending: None, failures: 0, asked_at, look_again: false };
        ctx.forget_observed();
        ctx.emit(Output::Elected { term, trust });
        leading.renewed(ctx)
    }

    pub(crate) fn term(&self) -> Term {
        self.term
    }

    pub(crate) fn nonce(&self) -> Nonce {
        self.nonce
    }

    pub(crate) fn trust(&self) -> Trust {
        self.trust
    }

    pub(crate) fn on_reply(
        mut self,
        ctx: &mut Context,
        request: RequestId,
        reply: Result<RenewReply, WriteOutcome>,
    ) -> State {
        let answered = |pending: &mut PendingRequest| pending.id == request || ctx.has(Mutant::LatestSend);
        let Some(pending) = self.pending.take_if(answered) else {
            return State::Leading(self);
        };
        ctx.timers.clear(Timer::Attempt);
        match reply {
            Ok(RenewReply::Renewed { handover }) => {
                self.extend(ctx, pending);
                match handover {
                    None => self.renewed(ctx),
                    Some(handover) => self.resign(ctx, LossReason::Requested, handover.successor, Then::Follow),
                }
            }
            Ok(RenewReply::NotHolder { current }) => self.overthrown(ctx, current),
            Err(WriteOutcome::Replaced) => {
                let state = Draining::replaced(ctx, &self);
                ctx.emit(Output::Report(Anomaly::Replaced { term: self.term }));
                state
            }
            Err(WriteOutcome::Refused | WriteOutcome::NotSent | WriteOutcome::Unknown | WriteOutcome::Unusable) => {
                self.failed(ctx)
            }
        }
    }

    pub(crate) fn on_renew_timer(mut self, ctx: &mut Context) -> State {
        if self.pending.is_none() {
            // It may be sent before its time, with those of others; then that time must not wake anybody for nothing.
            ctx.timers.clear(Timer::Renew);
            self.asked_at = ctx.now;
            self.pending = Some(ctx.send(Verb::Renew { nonce: self.nonce, term: self.term }));
        }
        State::Leading(self)
    }

    pub(crate) fn on_attempt_timer(mut self, ctx: &mut Context) -> State {
        if let Some(unanswered) = self.pending.take()
            && ctx.has(Mutant::SilenceIsConsent)
        {
            self.extend(ctx, unanswered);
            return self.renewed(ctx);
        }
        self.failed(ctx)
    }

    /// Not renewed in time.
    pub(crate) fn on_stop_timer(self, ctx: &mut Context) -> State {
        let grace = ctx.candidate.timing.grace();
        let kill_at = if ctx.has(Mutant::GraceAfterPause) { ctx.now + grace } else { self.trust.kill_at };
        Draining::by(ctx, &self, LossReason::Expired, kill_at, None, Then::Follow)
    }

    /// A hint to a leader means that somebody asked it to hand over, or that its lease is gone: ask now.
    pub(crate) fn on_hint(mut self, ctx: &mut Context) -> State {
        self.look_again = self.pending.is_some();
        if !self.look_again {
            let gap = if self.failures == 0 { HINT_GAP } else { ctx.back_off(1, ctx.candidate.timing.max_retry()) };
            ctx.timers.at_latest(Timer::Renew, (self.asked_at + gap).max(ctx.now));
        }
        State::Leading(self)
    }

    /// Others are renewing: joining them when halfway there makes one request of many.
    pub(crate) fn on_opportunity(self, ctx: &mut Context) -> State {
        let halfway = self.asked_at + ctx.candidate.timing.renew_every() / 2;
        if self.failures == 0 && ctx.now >= halfway { self.on_renew_timer(ctx) } else { State::Leading(self) }
    }

    /// Steps down of its own accord: the work gets its grace, and then the lease is released.
    pub(crate) fn resign(
        self,
        ctx: &mut Context,
        reason: LossReason,
        successor: Option<CandidateId>,
        then: Then,
    ) -> State {
        let kill_at = (ctx.now + ctx.candidate.timing.grace()).min(self.trust.kill_at);
        Draining::by(ctx, &self, reason, kill_at, successor, then)
    }

    /// Trust never shrinks.
    fn extend(&mut self, ctx: &mut Context, answered: PendingRequest) {
        let trust = ctx.trust_by(answered);
        if trust.until > self.trust.until {
            self.trust = trust;
            ctx.emit(Output::Trusted { term: self.term, trust });
        }
    }

    fn renewed(mut self, ctx: &mut Context) -> State {
        self.failures = 0;
        ctx.timers.set(Timer::Stop, self.trust.stop_at);
        let again = std::mem::take(&mut self.look_again);
        let gap = if again { HINT_GAP } else { ctx.jittered(ctx.candidate.timing.renew_every()) };
        ctx.timers.set(Timer::Renew, (self.asked_at + gap).max(ctx.now));
        State::Leading(self)
    }

    fn failed(mut self, ctx: &mut Context) -> State {
        #[cfg(mutants)]
        if ctx.has(Mutant::WindowRestarts) {
            self.extend(ctx, PendingRequest { id: ctx.last_request(), sent_at: ctx.now });
            ctx.timers.set(Timer::Stop, self.trust.stop_at);
        }
        self.failures = self.failures.saturating_add(1);
        let delay = ctx.back_off(self.failures, ctx.candidate.timing.max_retry());
        ctx.timers.set(Timer::Renew, ctx.now + delay);
        State::Leading(self)
    }

    /// Somebody else may be leading this very moment: no grace.
    fn overthrown(self, ctx: &mut Context, current: Option<Term>) -> State {
        let reason = match current {
            None => LossReason::Revoked,
            Some(current) if current < self.term => LossReason::Regressed,
            Some(current) => {
                ctx.saw(current);
                if current == self.term { LossReason::Revoked } else { LossReason::Superseded }
            }
        };
        if ctx.has(Mutant::SilentLoss) {
            ctx.timers.clear_all_but_health();
            return super::resigning::stand_again(ctx, reason, 0);
        }
        // First the loss, then why: whoever hears of the anomaly must not find leadership in place.
        let state = Draining::at_once(ctx, &self, reason);
        if let (LossReason::Regressed, Some(shown)) = (reason, current) {
            ctx.emit(Output::Report(Anomaly::Regressed { seen: self.term, shown }));
        }
        state
    }
}
