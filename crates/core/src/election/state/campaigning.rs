//! A campaign is under way.

use std::time::Duration;

use super::following::HINT_GAP;
use super::{Following, Leading, Release, State, Then};
use crate::election::context::{Context, PendingRequest};
use crate::election::input::{CampaignReply, Held, WriteOutcome};
use crate::election::mutant::Mutant;
use crate::election::output::{LossReason, RequestId, Verb};
use crate::election::timer::Timer;
use crate::lease::{Nonce, Term};

/// Waits for one answer, for at most the attempt timeout.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Campaigning {
    following: Following,
    pending: PendingRequest,
    /// A hint came meanwhile: what is being answered may be old.
    look_again: bool,
    /// The application wants to leave; wait for the answer, because it may be a grant.
    stopping: bool,
}

/// A campaign that nobody answers, and one more to find out what became of it.
const MAX_UNHEARD: u32 = 2;

impl Campaigning {
    pub(super) fn send(ctx: &mut Context, following: Following) -> State {
        ctx.timers.clear(Timer::Campaign);
        let pending = ctx.send(Verb::Campaign { nonce: following.nonce });
        State::Campaigning(Self { following, pending, look_again: false, stopping: false })
    }

    pub(crate) fn nonce(&self) -> Nonce {
        self.following.nonce
    }

    pub(crate) fn on_reply(
        self,
        ctx: &mut Context,
        request: RequestId,
        reply: Result<CampaignReply, WriteOutcome>,
    ) -> State {
        if request != self.pending.id && !ctx.has(Mutant::LatestSend) {
            // Late or duplicated: whatever it says, a later campaign under the same nonce will say it again.
            return State::Campaigning(self);
        }
        ctx.timers.clear(Timer::Attempt);
        match reply {
            Ok(CampaignReply::Granted { term }) => self.granted(ctx, term),
            Ok(CampaignReply::Held(held)) => self.held(ctx, &held),
            Err(WriteOutcome::Unknown) => self.unheard(ctx),
            Err(WriteOutcome::Unusable) => self.unusable(ctx),
            Err(WriteOutcome::Refused | WriteOutcome::NotSent | WriteOutcome::Replaced) => {
                ctx.forget_observed();
                self.failed(ctx)
            }
        }
    }

    /// No answer in time: it may have been granted all the same.
    pub(crate) fn on_attempt_timer(self, ctx: &mut Context) -> State {
        self.unheard(ctx)
    }

    pub(crate) fn on_hint(mut self) -> State {
        self.look_again = true;
        State::Campaigning(self)
    }

    pub(crate) fn on_stop(mut self) -> State {
        self.stopping = true;
        State::Campaigning(self)
    }

    fn granted(mut self, ctx: &mut Context, term: Term) -> State {
        self.following.known_to_store = true;
        let nonce = self.following.nonce;
        let release = |reason| Release { nonce, term: Some(term), successor: None, reason, failures: 0 };
        if !ctx.admits(term) {
            return release(LossReason::Regressed).send(ctx, if self.stopping { Then::Stop } else { Then::Follow });
        }
        if self.stopping {
            return release(LossReason::Stopped).send(ctx, Then::Stop);
        }
        if !ctx.healthy {
            return release(LossReason::Unhealthy).send(ctx, Then::Follow);
        }
        if ctx.now >= ctx.trust_by(self.pending).stop_at {
            // The answer took so long that it is worth nothing. The lease is let go, and a new candidacy begins.
            return release(LossReason::Expired).send(ctx, Then::Follow);
        }
        Leading::begin(ctx, self.following.nonce, term, self.pending)
    }

    fn held(mut self, ctx: &mut Context, held: &Held) -> State {
        if let Some(leader) = &held.leader {
            ctx.saw(leader.term);
        }
        let news = ctx.observe(held.leader.as_ref());
        self.following.known_to_store = true;
        (self.following.failures, self.following.unheard, self.following.vain_hints) = (0, 0, 0);
        if self.stopping {
            return self.following.on_stop(ctx);
        }
        let in_a_hurry = self.following.hints_from > self.pending.sent_at;
        self.following.hints_from = if news { ctx.now } else { ctx.now + HINT_GAP };
        if self.look_again {
            let delay = if in_a_hurry { HINT_GAP } else { Duration::ZERO };
            return self.following.wait(ctx, delay);
        }
        self.following.wait_for(ctx, held)
    }

    /// It may have been granted. Asking again under the same nonce tells; but whoever is not heard a second time may be
    /// one that is only not answered. Asking on and on would then keep a lease alive that nobody uses, so from there on
    /// the store is asked to release whatever there is, until it answers.
    fn unheard(mut self, ctx: &mut Context) -> State {
        ctx.forget_observed();
        self.following.known_to_store = true;
        self.following.unheard += 1;
        if self.following.unheard < MAX_UNHEARD || self.stopping || ctx.has(Mutant::CampaignsUnheard) {
            return self.failed(ctx);
        }
        self.give_back(LossReason::Unheard).send_until_heard(ctx)
    }

    /// Granted, and of no use. It is given back at once. From here on a resignation of this nonce may be under way for any
    /// length of time, and would end whatever were granted to it meanwhile: what follows needs a nonce of its own.
    fn unusable(self, ctx: &mut Context) -> State {
        ctx.forget_observed();
        let then = if self.stopping { Then::Stop } else { Then::Follow };
        self.give_back(LossReason::Withdrawn).send(ctx, then)
    }

    /// To release whatever this nonce owns, after a campaign that failed.
    fn give_back(self, reason: LossReason) -> Release {
        let Following { nonce, failures, .. } = self.following;
        Release { nonce, term: None, successor: None, reason, failures: failures.saturating_add(1) }
    }

    fn failed(mut self, ctx: &mut Context) -> State {
        if self.stopping {
            return self.following.on_stop(ctx);
        }
        self.following.failures = self.following.failures.saturating_add(1);
        if ctx.has(Mutant::GivesUp) && self.following.failures > 3 {
            return super::resigning::leave(ctx);
        }
        let longest = ctx.candidate.timing.renew_every();
        let delay = ctx.back_off(self.following.failures, longest);
        // A hint may tell that the store is back; those that keep leading to failures are followed less and less often.
        self.following.vain_hints = self.following.vain_hints.saturating_add(u32::from(self.following.is_hinted));
        self.following.hints_from = ctx.now + ctx.back_off(self.following.vain_hints.saturating_add(1), longest);
        self.following.wait(ctx, delay)
    }
}
