//! Derives the durations that were not given, then checks the inequality.

use std::time::Duration;

use super::{DEFAULTS, Drift, Timing, TimingError, TooTight, renewals, scale};

/// Collects the durations that are given explicitly. All others are derived by [`TimingBuilder::build`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a builder does nothing until it is built"]
pub struct TimingBuilder {
    ttl: Duration,
    renew_every: Option<Duration>,
    attempt_timeout: Option<Duration>,
    grace: Option<Duration>,
    reaction: Option<Duration>,
    drift: Drift,
}

impl TimingBuilder {
    pub(super) fn new(ttl: Duration) -> Self {
        Self { ttl, renew_every: None, attempt_timeout: None, grace: None, reaction: None, drift: Drift::default() }
    }

    /// Sets the interval between renewals. Default: the longest that lets two renewals in a row fail.
    pub fn renew_every(mut self, renew_every: Duration) -> Self {
        self.renew_every = Some(renew_every);
        self
    }

    /// Sets the timeout of one store call. Default: six tenths of the renewal interval, or less if there is less time.
    pub fn attempt_timeout(mut self, attempt_timeout: Duration) -> Self {
        self.attempt_timeout = Some(attempt_timeout);
        self
    }

    /// Sets the time that work has to stop. Default: a tenth of the ttl, or less if there is less time.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Sets the bound on this process's own reaction. Default: a thirtieth of the ttl, at most 200 ms.
    pub fn reaction(mut self, reaction: Duration) -> Self {
        self.reaction = Some(reaction);
        self
    }

    /// Sets the bound on the rates of clocks. Lower it only if you know how yours are disciplined.
    pub fn drift(mut self, drift: Drift) -> Self {
        self.drift = drift;
        self
    }

    /// Checks and completes.
    ///
    /// # Errors
    /// When not even one failed renewal would be survived; the message shows the numbers.
    pub fn build(self) -> Result<Timing, TimingError> {
        if !(Timing::MIN_TTL..=Timing::MAX_TTL).contains(&self.ttl) {
            return Err(TimingError::TtlOutOfRange { ttl: self.ttl });
        }
        for (what, duration) in [("renewal interval", self.renew_every), ("attempt timeout", self.attempt_timeout)] {
            if duration == Some(Duration::ZERO) {
                return Err(TimingError::Zero { what });
            }
        }
        let timing = match self.renew_every {
            Some(renew_every) => self.around_interval(renew_every),
            None => self.around_ttl(),
        };
        check(timing)
    }

    /// The renewal interval is given: survive two failures if they fit, else one, and share out what is left.
    fn around_interval(&self, renew_every: Duration) -> Timing {
        let mut timing = self.skeleton();
        timing.renew_every = renew_every;
        let room = timing.hold().saturating_sub(timing.reaction);
        let fixed = self.grace.unwrap_or_default().saturating_add(self.attempt_timeout.unwrap_or(renew_every / 10));
        timing.survives =
            if renewals(renew_every, DEFAULTS.survives).saturating_add(fixed) <= room { DEFAULTS.survives } else { 1 };
        let left = room.saturating_sub(renewals(renew_every, timing.survives));
        let (attempt_timeout, grace) = match (self.attempt_timeout, self.grace) {
            (Some(attempt_timeout), Some(grace)) => (attempt_timeout, grace),
            (Some(attempt_timeout), None) => (attempt_timeout, left.saturating_sub(attempt_timeout)),
            (None, Some(grace)) => (left.saturating_sub(grace), grace),
            (None, None) => (left / 2, left / 2),
        };
        timing.attempt_timeout =
            self.attempt_timeout.unwrap_or(attempt_timeout.min(scale(renew_every, 6, 10)).max(Timing::QUANTUM));
        timing.grace = self.grace.unwrap_or(grace.min(self.ttl / DEFAULTS.grace_per_ttl));
        timing
    }

    /// Only the ttl is given: renew as seldom as lets `DEFAULTS.survives` renewals in a row fail.
    fn around_ttl(&self) -> Timing {
        let mut timing = self.skeleton();
        timing.grace = self.grace.unwrap_or(self.ttl / DEFAULTS.grace_per_ttl);
        timing.survives = DEFAULTS.survives;
        let per_interval = 10 * (DEFAULTS.survives + 1) * (100 + Timing::JITTER_PERCENT);
        timing.renew_every = match self.attempt_timeout {
            Some(attempt_timeout) => scale(timing.usable().saturating_sub(attempt_timeout), 1000, per_interval),
            // attempt_timeout is 0.6 of the interval, so it counts for 600 of the thousandths.
            None => scale(timing.usable(), 1000, per_interval + 600),
        };
        timing.attempt_timeout = self.attempt_timeout.unwrap_or(scale(timing.renew_every, 6, 10));
        timing
    }

    fn skeleton(&self) -> Timing {
        let reaction = self.reaction.unwrap_or((self.ttl / DEFAULTS.reaction_per_ttl).min(DEFAULTS.max_reaction));
        Timing {
            ttl: self.ttl,
            renew_every: Duration::ZERO,
            attempt_timeout: Duration::ZERO,
            grace: Duration::ZERO,
            reaction,
            drift: self.drift,
            survives: 1,
        }
    }
}

fn check(timing: Timing) -> Result<Timing, TimingError> {
    let (needed, usable) = (timing.needed(), timing.usable());
    if usable.is_zero() {
        let Timing { ttl, grace, reaction, .. } = timing;
        return Err(TimingError::NoTimeToLead { ttl, grace, hold: timing.hold(), reaction });
    }
    if needed > usable || timing.renew_every.is_zero() {
        return Err(TimingError::TooTight(Box::new(TooTight {
            ttl: timing.ttl,
            renew_every: timing.renew_every,
            attempt_timeout: timing.attempt_timeout,
            survives: timing.survives,
            needed,
            usable,
            hold: timing.hold(),
            reaction: timing.reaction,
            grace: timing.grace,
            max_renew_every: scale(
                usable.saturating_sub(timing.attempt_timeout),
                100,
                2 * (100 + Timing::JITTER_PERCENT),
            ),
        })));
    }
    if timing.attempt_timeout > timing.renew_every {
        return Err(TimingError::AttemptTooLong {
            attempt_timeout: timing.attempt_timeout,
            renew_every: timing.renew_every,
        });
    }
    Ok(timing)
}
