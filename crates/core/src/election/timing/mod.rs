//! Validated timing: a [`Timing`] that breaks the inequality cannot be constructed.

mod builder;
mod error;
mod prediction;
mod preset;

use std::time::Duration;

pub use builder::TimingBuilder;
pub use error::{TimingError, TooTight};
pub use prediction::Prediction;
pub use preset::{DEFAULTS, Defaults, Preset, UnknownPreset};

use crate::election::output::Trust;
use crate::time::Instant;

/// How fast two clocks may drift apart, as a bound on the rate of each: every clock runs at a rate within
/// `1 - rho ..= 1 + rho` of real time.
///
/// ```
/// # use tenure_core as tenure;
/// use tenure::Drift;
///
/// assert_eq!(Drift::default(), Drift::ONE_NINTH);
/// assert!(Drift::from_ppb(1_000_000_000).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Drift(u32);

impl Drift {
    /// The default, 1/9: chrony may slew a clock by up to 8.3 %, and 1/9 makes the hold a plain 0.8 of the ttl.
    pub const ONE_NINTH: Self = Self(111_111_112);

    const ONE_PPB: u32 = 1_000_000_000;

    /// A bound in parts per billion, below one half.
    #[must_use]
    pub const fn from_ppb(ppb: u32) -> Option<Self> {
        if ppb < Self::ONE_PPB / 2 { Some(Self(ppb)) } else { None }
    }

    /// The bound in parts per billion.
    #[must_use]
    pub const fn ppb(self) -> u32 {
        self.0
    }

    /// `ttl * (1 - rho) / (1 + rho)`: both clocks may be wrong, so both sides are scaled.
    fn shrink(self, ttl: Duration) -> Duration {
        scale(ttl, Self::ONE_PPB - self.0, Self::ONE_PPB + self.0)
    }

    /// `ttl * (1 + rho)`: how long the ttl can last in real time.
    fn stretch(self, ttl: Duration) -> Duration {
        scale(ttl, Self::ONE_PPB + self.0, Self::ONE_PPB)
    }
}

impl Default for Drift {
    fn default() -> Self {
        Self::ONE_NINTH
    }
}

/// All durations of one candidacy. Every value satisfies
/// `(survives + 1) * renew_every * (1 + jitter) + attempt_timeout <= hold - reaction - grace`.
///
/// ```
/// use std::time::Duration;
/// # use tenure_core as tenure;
/// use tenure::Timing;
///
/// let timing = Timing::from_ttl(Duration::from_secs(15))?;
/// assert!(timing.hold() < Duration::from_secs(12));
/// assert_eq!(timing.survives(), 2);
///
/// // A renewal every five seconds cannot fail twice within a ttl of six.
/// let error = Timing::builder(Duration::from_secs(6)).renew_every(Duration::from_secs(5)).build().unwrap_err();
/// assert!(error.to_string().contains("renew"));
/// # Ok::<(), tenure::TimingError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timing {
    ttl: Duration,
    renew_every: Duration,
    attempt_timeout: Duration,
    grace: Duration,
    reaction: Duration,
    drift: Drift,
    survives: u32,
}

impl Timing {
    /// Timers are spread by this much to either side, in percent.
    pub const JITTER_PERCENT: u32 = 10;
    /// The coarsest clock of any store: a lease may end this much before its ttl.
    pub const QUANTUM: Duration = Duration::from_millis(1);
    /// The shortest ttl.
    pub const MIN_TTL: Duration = Duration::from_millis(200);
    /// The longest ttl. Longer leases are not leases.
    pub const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

    /// Derives everything from the ttl.
    ///
    /// # Errors
    /// When the ttl is outside [`Timing::MIN_TTL`] `..=` [`Timing::MAX_TTL`].
    pub fn from_ttl(ttl: Duration) -> Result<Self, TimingError> {
        Self::builder(ttl).build()
    }

    /// Starts a builder, which derives the durations that are not given.
    pub fn builder(ttl: Duration) -> TimingBuilder {
        TimingBuilder::new(ttl)
    }

    /// The lifetime of a lease without renewal.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// The interval between renewals.
    #[must_use]
    pub fn renew_every(&self) -> Duration {
        self.renew_every
    }

    /// The timeout of one store call.
    #[must_use]
    pub fn attempt_timeout(&self) -> Duration {
        self.attempt_timeout
    }

    /// The time that work has to stop before it is killed.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// The bound on this process's own reaction: from a deadline passing to the kill being done.
    #[must_use]
    pub fn reaction(&self) -> Duration {
        self.reaction
    }

    /// The bound on the rates of clocks.
    #[must_use]
    pub fn drift(&self) -> Drift {
        self.drift
    }

    /// The number of renewals in a row that may fail without loss of leadership.
    #[must_use]
    pub fn survives(&self) -> u32 {
        self.survives
    }

    /// The longest time a grant may be used: `ttl * (1 - rho) / (1 + rho) - quantum`.
    #[must_use]
    pub fn hold(&self) -> Duration {
        self.drift.shrink(self.ttl).saturating_sub(Self::QUANTUM)
    }

    /// The trust that an answer gives to the request that was sent at `sent_at`, and to no other.
    #[must_use]
    pub fn trust_from(&self, sent_at: Instant) -> Trust {
        let until = sent_at + self.hold();
        let kill_at = until - self.reaction;
        Trust { stop_at: kill_at - self.grace, kill_at, until }
    }

    /// The part of a hold before work has to begin to stop.
    fn usable(&self) -> Duration {
        self.hold().saturating_sub(self.reaction).saturating_sub(self.grace)
    }

    /// What the renewals need: `(survives + 1) * renew_every * (1 + jitter) + attempt_timeout`.
    fn needed(&self) -> Duration {
        renewals(self.renew_every, self.survives).saturating_add(self.attempt_timeout)
    }
}

impl Default for Timing {
    /// The timing of [`Preset::Normal`].
    fn default() -> Self {
        Preset::Normal.timing()
    }
}

fn renewals(renew_every: Duration, survives: u32) -> Duration {
    scale(renew_every, (survives + 1) * (100 + Timing::JITTER_PERCENT), 100)
}

/// `duration * numerator / denominator`, rounded down, without overflow for any duration a [`Timing`] can hold.
fn scale(duration: Duration, numerator: u32, denominator: u32) -> Duration {
    let nanos = duration.as_nanos() * u128::from(numerator) / u128::from(denominator);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
