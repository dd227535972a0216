//! Clocks that run as wrong as the drift bound allows.

use tenure_core::{Drift, Instant, Timing};

/// True time, in nanoseconds since the history began.
pub(super) type ModelTime = u64;

/// A clock with a rate of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelClock {
    /// Nanoseconds it counts in a true second.
    rate: u64,
    /// It shows multiples of this.
    grain: u64,
}

const SECOND: u64 = 1_000_000_000;

impl ModelClock {
    /// As slow as allowed: trust in a lease lasts longest on it.
    pub(super) fn slow(drift: Drift) -> Self {
        Self { rate: SECOND - u64::from(drift.ppb()), grain: 1 }
    }

    /// Neither fast nor slow.
    pub(super) const EXACT: Self = Self { rate: SECOND, grain: 1 };

    /// As fast as allowed.
    pub(super) fn fast(drift: Drift) -> Self {
        Self { rate: SECOND + u64::from(drift.ppb()), grain: 1 }
    }

    /// The worst clock that a store may have: as fast as allowed, so that leases end early, and no finer than the
    /// quantum, so that they end earlier still.
    pub(super) fn of_store(drift: Drift) -> Self {
        let grain = u64::try_from(Timing::QUANTUM.as_nanos()).unwrap_or(1);
        Self { grain, ..Self::fast(drift) }
    }

    /// What it shows at a true time.
    pub(super) fn at(self, now: ModelTime) -> Instant {
        let counted = wide(now, self.rate, SECOND);
        Instant::from_nanos(counted - counted % self.grain)
    }

    /// The first true time at which it shows `at`, or more.
    pub(super) fn when(self, at: Instant) -> ModelTime {
        let shown = at.as_nanos().div_ceil(self.grain).saturating_mul(self.grain);
        let counted = (u128::from(shown) * u128::from(SECOND)).div_ceil(u128::from(self.rate));
        u64::try_from(counted).unwrap_or(u64::MAX)
    }
}

fn wide(number: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(number) * u128::from(numerator) / u128::from(denominator);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_an_instant_exactly_from_when_it_says() {
        let drift = Drift::default();
        for clock in [ModelClock::slow(drift), ModelClock::EXACT, ModelClock::fast(drift), ModelClock::of_store(drift)]
        {
            for nanos in [1, 999_999, 1_000_000, 7_198_999_999, 9_000_000_000] {
                let instant = Instant::from_nanos(nanos);
                let when = clock.when(instant);
                assert!(clock.at(when) >= instant, "{clock:?} {instant:?}");
                assert!(clock.at(when - 1) < instant, "{clock:?} {instant:?}");
            }
        }
    }

    #[test]
    fn the_clock_of_a_store_is_coarse() {
        assert_eq!(ModelClock::of_store(Drift::default()).at(899_999), Instant::ZERO);
    }
}
