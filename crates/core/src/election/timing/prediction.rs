//! The consequences of a timing for operators.

use std::time::Duration;

use super::{Timing, scale};

/// The consequences of a [`Timing`].
///
/// ```
/// # use tenure_core as tenure;
/// use tenure::{Preset, Timing};
///
/// let prediction = Preset::Normal.timing().predict(10);
/// assert!(prediction.requests_per_minute <= 30.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// The longest time without a leader after a crash, once the store answers.
    pub max_failover: Duration,
    /// The longest store outage that never costs leadership.
    pub outage_survived: Duration,
    /// Requests to the store per minute by one leader and its followers, when nothing happens.
    pub requests_per_minute: f64,
}

impl Timing {
    /// Predicts, for an election with this many candidates (one of them leading).
    #[must_use]
    pub fn predict(&self, candidates: u32) -> Prediction {
        let jittered = scale(self.renew_every, 100 + Self::JITTER_PERCENT, 100);
        let outage = self.usable().saturating_sub(jittered + self.attempt_timeout + self.max_retry());
        // A follower looks when the lease it knows of would end; by then the leader has renewed half an interval ago.
        let between_looks = self.ttl.saturating_sub(self.renew_every / 2).as_secs_f64();
        let followers = f64::from(candidates.saturating_sub(1));
        let behind_first = (followers - 1.0).max(0.0);
        let looks = (followers - behind_first) / between_looks
            + behind_first / (between_looks + self.min_stagger().as_secs_f64() * 1.5);
        Prediction {
            max_failover: self.drift.stretch(self.ttl) + self.min_stagger() * 2 + self.attempt_timeout,
            outage_survived: outage,
            requests_per_minute: 60.0 * (1.0 / self.renew_every.as_secs_f64() + looks),
        }
    }

    /// The longest pause between two attempts to renew after one failed.
    pub(crate) fn max_retry(&self) -> Duration {
        self.renew_every / 4
    }

    /// How much later than the first the other stand-bys look, at least; at most twice that.
    pub(crate) fn min_stagger(&self) -> Duration {
        self.ttl / 16
    }
}
