//! The elector: one candidate in one election.

use crate::election::candidate::Candidate;
use crate::election::context::Context;
use crate::election::input::{Draw, Input, Reply};
use crate::election::mutant::Mutant;
use crate::election::output::{LossReason, Output, RequestId, Trust};
use crate::election::state::{Draining, Following, Release, State, Then};
use crate::election::timer::Timer;
use crate::lease::{Nonce, Term};
use crate::time::Instant;
use std::time::Duration;

/// One candidate in one election, as a pure state machine.
///
/// # Contract
/// - Call [`handle`](Self::handle) for everything that happens, then [`poll_output`](Self::poll_output) until it
///   returns [`Output::Timeout`]. That instant is when `handle` must be called again at the latest, with
///   [`Input::Timeout`].
/// - `now` comes from the candidate's own clock, read before the outputs of the call are carried out. It never goes
///   back; a value that does is taken for the latest one seen.
/// - A request is answered at most once, under its own id. Answers may be late, lost or duplicated, or carry an id
///   that was never asked: at worst they cost time, never safety.
/// - Deadlines are checked before the input is looked at. An answer that comes too late finds the leadership lost.
/// - [`Output::Elected`] and [`Output::Lost`] strictly alternate, and nothing follows [`Output::Stopped`].
///
/// ```
/// use tenure_core::*;
///
/// let mut elector = Elector::new(Candidate {
///     id: CandidateId::new("worker-1")?,
///     timing: Preset::Fast.timing(),
///     priority: Priority::MAX,
///     health_within: None,
/// });
/// let draw = Draw { nonce: Nonce::from_bits(42), spread: 0 };
/// elector.handle(Instant::ZERO, Input::Start, draw);
///
/// let Output::Send(request) = elector.poll_output() else { panic!("it campaigns at once") };
/// let reply = Reply::Campaign(Ok(CampaignReply::Granted { term: Term::new(1).unwrap() }));
/// elector.handle(Instant::ZERO, Input::Reply { request: request.id, reply }, draw);
/// # while !matches!(elector.poll_output(), Output::Timeout(_)) {}
/// assert!(elector.leads_under().is_some());
/// # Ok::<(), NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Elector {
    state: State,
    pub(crate) ctx: Context,
}

/// A lease that was not released when the code that ran its elector broke down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreleased {
    /// The nonce that owns it.
    pub nonce: Nonce,
    /// Its term.
    pub term: Term,
    /// The time in which the leader may act under it.
    pub trust: Trust,
    /// Whether [`Output::Lost`] was carried out for it.
    pub is_lost: bool,
}

/// The phase of a candidacy, as far as the caller needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElectorPhase {
    /// Not started.
    Idle,
    /// Wants to lead.
    Following,
    /// Leads.
    Leading,
    /// Led; its work is stopping, or its lease is being released.
    Leaving,
    /// Has left for good.
    Stopped,
}

impl Elector {
    /// Creates the elector of a candidate that has not started yet.
    #[must_use]
    pub fn new(candidate: Candidate) -> Self {
        Self { state: State::Idle, ctx: Context::new(candidate) }
    }

    /// Handles an input at `now`.
    pub fn handle(&mut self, now: Instant, input: Input, draw: Draw) {
        self.ctx.now = now.max(self.ctx.now);
        self.ctx.draw = draw;
        let asked = self.ctx.last_request();
        if input == Input::Timeout || !self.ctx.has(Mutant::NoRecheckAfterResume) {
            self.fire_timers();
        }
        let state = self.take_state();
        self.state = match input {
            Input::Timeout => state,
            Input::Start => self.start(state),
            // What a timer has asked only just now cannot have been answered.
            Input::Reply { request, .. } if request > asked => state,
            Input::Reply { request, reply } => self.reply(state, request, reply),
            Input::Hint => self.hint(state),
            Input::Opportunity => self.opportunity(state),
            Input::Resign { term, successor } => match state {
                State::Leading(leading) if term.is_none_or(|term| term == leading.term()) => {
                    leading.resign(&mut self.ctx, LossReason::Resigned, successor, Then::Follow)
                }
                other @ (State::Idle
                | State::Following(_)
                | State::Campaigning(_)
                | State::Leading(_)
                | State::Draining(_)
                | State::Resigning(_)
                | State::Stopped) => other,
            },
            Input::WorkEnded { term } => match state {
                State::Draining(draining) => draining.on_work_ended(&mut self.ctx, term),
                other @ (State::Idle
                | State::Following(_)
                | State::Campaigning(_)
                | State::Leading(_)
                | State::Resigning(_)
                | State::Stopped) => other,
            },
            Input::Health { healthy } => self.health(state, healthy),
            Input::Stop => self.stop(state),
        };
    }

    /// Starts over at `now`, because the code that runs the elector broke down: its state and its timers may be half
    /// changed, and answers to requests in flight may never be delivered. Outputs follow as after
    /// [`handle`](Self::handle).
    ///
    /// What was learnt of terms stays, and whether the application is well. A lease that was not released is drained and
    /// released as after any loss; a nonce that the store may know is withdrawn first. The next campaign has a fresh one.
    pub fn begin_anew(&mut self, now: Instant, draw: Draw, unreleased: Option<Unreleased>) {
        let doubtful = self.take_state().nonce_in_doubt();
        self.ctx.begin_anew(now, draw);
        if self.ctx.healthy {
            self.arm_health();
        }
        let ctx = &mut self.ctx;
        self.state = match (unreleased, doubtful) {
            (Some(lease), _) => Draining::resumed(ctx, lease),
            (None, Some(nonce)) => Release::withdraw(ctx, nonce),
            (None, None) => Following::afresh(ctx, Duration::ZERO, 0),
        };
    }

    /// Returns the next thing to do, or when to call again.
    pub fn poll_output(&mut self) -> Output {
        self.ctx.next_output().unwrap_or_else(|| Output::Timeout(self.ctx.timers.next()))
    }

    /// The term and the trust of a leader that has not lost it yet. Whether the trust still holds is up to the
    /// reader's clock.
    #[must_use]
    pub fn leads_under(&self) -> Option<(Term, Trust)> {
        match &self.state {
            State::Leading(leading) => Some((leading.term(), leading.trust())),
            State::Idle
            | State::Following(_)
            | State::Campaigning(_)
            | State::Draining(_)
            | State::Resigning(_)
            | State::Stopped => None,
        }
    }

    /// The nonce that owns the lease of a leader that has not lost it yet, for requests beside the elector's own. It
    /// is a secret: every process that knows it owns the lease.
    #[must_use]
    pub fn nonce(&self) -> Option<Nonce> {
        match &self.state {
            State::Leading(leading) => Some(leading.nonce()),
            State::Idle
            | State::Following(_)
            | State::Campaigning(_)
            | State::Draining(_)
            | State::Resigning(_)
            | State::Stopped => None,
        }
    }

    /// The nonce under which the candidate stands by, or asks to. Any other nonce of it in the store is left over from
    /// an abandoned candidacy.
    #[must_use]
    pub fn stands_under(&self) -> Option<Nonce> {
        match &self.state {
            State::Following(following) => Some(following.nonce()),
            State::Campaigning(campaigning) => Some(campaigning.nonce()),
            State::Idle | State::Leading(_) | State::Draining(_) | State::Resigning(_) | State::Stopped => None,
        }
    }

    /// Returns the phase of the candidacy.
    #[must_use]
    pub fn phase(&self) -> ElectorPhase {
        match &self.state {
            State::Idle => ElectorPhase::Idle,
            State::Following(_) | State::Campaigning(_) => ElectorPhase::Following,
            State::Leading(_) => ElectorPhase::Leading,
            State::Draining(_) | State::Resigning(_) => ElectorPhase::Leaving,
            State::Stopped => ElectorPhase::Stopped,
        }
    }

    /// Whether the application is healthy, by its last report and by the time since. While it is not, the candidate does not
    /// campaign.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.ctx.healthy
    }

    /// Returns what is fixed about this candidacy.
    #[must_use]
    pub fn candidate(&self) -> &Candidate {
        &self.ctx.candidate
    }

    #[cfg(test)]
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    fn take_state(&mut self) -> State {
        std::mem::replace(&mut self.state, State::Stopped)
    }

    /// Fires what is due. Every timer that fires was cleared before, and states arm timers in the future only, so this
    /// ends; the bound turns a mistake in that into a delay.
    fn fire_timers(&mut self) {
        for _ in 0..2 * Timer::ALL.len() {
            let Some(timer) = self.ctx.timers.take_due(self.ctx.now) else { return };
            let state = self.take_state();
            self.state = match timer {
                Timer::Health => self.health(state, false),
                Timer::Stop | Timer::Kill | Timer::Lapse | Timer::Attempt | Timer::Renew | Timer::Campaign => {
                    self.fire(state, timer)
                }
            };
        }
    }

    fn fire(&mut self, state: State, timer: Timer) -> State {
        let ctx = &mut self.ctx;
        match (state, timer) {
            (State::Following(following), Timer::Campaign) => following.on_campaign_timer(ctx),
            (State::Campaigning(campaigning), Timer::Attempt) => campaigning.on_attempt_timer(ctx),
            (State::Leading(leading), Timer::Stop) => leading.on_stop_timer(ctx),
            (State::Leading(leading), Timer::Renew) => leading.on_renew_timer(ctx),
            (State::Leading(leading), Timer::Attempt) => leading.on_attempt_timer(ctx),
            (State::Draining(draining), Timer::Kill) => draining.on_kill_timer(ctx),
            #[cfg(mutants)]
            (State::Draining(draining), Timer::Renew) => draining.on_renew_timer(ctx),
            (State::Draining(draining), Timer::Lapse) => draining.on_lapse_timer(ctx),
            (State::Resigning(resigning), Timer::Attempt) => resigning.on_attempt_timer(ctx),
            (State::Resigning(resigning), Timer::Campaign) => resigning.on_campaign_timer(ctx),
            (state, timer) => {
                debug_assert!(false, "{timer:?} is not armed in {state:?}");
                state
            }
        }
    }

    fn start(&mut self, state: State) -> State {
        match state {
            State::Idle => {
                self.arm_health();
                Following::afresh(&mut self.ctx, Duration::ZERO, 0)
            }
            other @ (State::Following(_)
            | State::Campaigning(_)
            | State::Leading(_)
            | State::Draining(_)
            | State::Resigning(_)
            | State::Stopped) => other,
        }
    }

    fn reply(&mut self, state: State, request: RequestId, reply: Reply) -> State {
        #[cfg(mutants)]
        if let Some(revived) = self.revive(&state, request, &reply) {
            return revived;
        }
        let ctx = &mut self.ctx;
        match (state, reply) {
            (State::Campaigning(campaigning), Reply::Campaign(reply)) => campaigning.on_reply(ctx, request, reply),
            (State::Leading(leading), Reply::Renew(reply)) => leading.on_reply(ctx, request, reply),
            (State::Resigning(resigning), Reply::Resign(reply)) => resigning.on_reply(ctx, request, reply),
            // An answer to a question that is no longer asked. A grant among them is found again by its nonce, or
            // runs out.
            (state, Reply::Campaign(_) | Reply::Renew(_) | Reply::Resign(_)) => state,
        }
    }

    fn hint(&mut self, state: State) -> State {
        match state {
            State::Following(following) => {
                self.state = following.on_hint(&mut self.ctx);
                self.fire_timers();
                self.take_state()
            }
            State::Campaigning(campaigning) => campaigning.on_hint(),
            State::Leading(leading) => {
                self.state = leading.on_hint(&mut self.ctx);
                self.fire_timers();
                self.take_state()
            }
            other @ (State::Idle | State::Draining(_) | State::Resigning(_) | State::Stopped) => other,
        }
    }

    fn opportunity(&mut self, state: State) -> State {
        match state {
            State::Leading(leading) => leading.on_opportunity(&mut self.ctx),
            other @ (State::Idle
            | State::Following(_)
            | State::Campaigning(_)
            | State::Draining(_)
            | State::Resigning(_)
            | State::Stopped) => other,
        }
    }

    fn health(&mut self, state: State, healthy: bool) -> State {
        self.ctx.healthy = healthy;
        if healthy && !matches!(state, State::Idle | State::Stopped) {
            self.arm_health();
        }
        match state {
            State::Following(following) if healthy => {
                self.state = following.on_recovery(&mut self.ctx);
                self.fire_timers();
                self.take_state()
            }
            State::Leading(leading) if !healthy => {
                leading.resign(&mut self.ctx, LossReason::Unhealthy, None, Then::Follow)
            }
            other @ (State::Idle
            | State::Following(_)
            | State::Campaigning(_)
            | State::Leading(_)
            | State::Draining(_)
            | State::Resigning(_)
            | State::Stopped) => other,
        }
    }

    fn stop(&mut self, state: State) -> State {
        let ctx = &mut self.ctx;
        match state {
            State::Idle => {
                ctx.emit(Output::Stopped);
                State::Stopped
            }
            State::Following(following) => following.on_stop(ctx),
            State::Campaigning(campaigning) => campaigning.on_stop(),
            State::Leading(leading) => leading.resign(ctx, LossReason::Stopped, None, Then::Stop),
            State::Draining(draining) => draining.on_stop(ctx),
            State::Resigning(resigning) => resigning.on_stop(),
            State::Stopped => State::Stopped,
        }
    }

    fn arm_health(&mut self) {
        if let Some(within) = self.ctx.candidate.health_within {
            self.ctx.timers.set(Timer::Health, self.ctx.now + within);
        }
    }
}
