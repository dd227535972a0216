//! How long to wait before something that failed is tried again.

use std::time::Duration;

/// Exponential back-off: the delay doubles with every further failure in a row, up to a limit.
///
/// It counts nothing by itself: whoever retries knows how many failures there were.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::Backoff;
///
/// let backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(2));
/// assert_eq!(backoff.ceiling(1), Duration::from_millis(50));
/// assert_eq!(backoff.ceiling(3), Duration::from_millis(200));
/// assert_eq!(backoff.ceiling(100), Duration::from_secs(2));
/// assert_eq!(backoff.delay(3, 0), Duration::from_millis(100));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    max: Duration,
}

impl Backoff {
    /// What suits most requests to a store: from a tenth of a second to half a minute.
    pub const RETRY: Self = Self::new(Duration::from_millis(100), Duration::from_secs(30));

    /// `first` is the delay after the first failure, `max` the longest.
    #[must_use]
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { first, max }
    }

    /// The same with another limit.
    #[must_use]
    pub const fn with_max(self, max: Duration) -> Self {
        Self { max, ..self }
    }

    /// The longest delay after so many failures in a row.
    #[must_use]
    pub fn ceiling(self, failures: u32) -> Duration {
        let times = 2_u32.checked_pow(failures.saturating_sub(1));
        times.and_then(|times| self.first.checked_mul(times)).map_or(self.max, |delay| delay.min(self.max))
    }

    /// Between half of the [ceiling](Self::ceiling) and all of it, so that those who fail together do not come back together.
    /// `spread` is drawn at random: 0 is the earliest moment, `u32::MAX` the latest.
    #[must_use]
    pub fn delay(self, failures: u32, spread: u32) -> Duration {
        let half = self.ceiling(failures) / 2;
        half + part_of(half, spread)
    }
}

/// `span` scaled by a drawn fraction: nothing for 0, all of it for `u32::MAX`.
pub(crate) fn part_of(span: Duration, spread: u32) -> Duration {
    span.mul_f64(f64::from(spread) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_limit() {
        let backoff = Backoff::new(Duration::from_millis(3), Duration::from_millis(20));
        let ceilings: Vec<_> =
            [0, 1, 2, 3, 4, 33, u32::MAX].map(|failures| backoff.ceiling(failures).as_millis()).into();
        assert_eq!(ceilings, [3, 3, 6, 12, 20, 20, 20]);
        assert_eq!(backoff.with_max(Duration::from_millis(5)).ceiling(2), Duration::from_millis(5));
    }

    #[test]
    fn no_delay_is_too_long_to_be_expressed() {
        let backoff = Backoff::new(Duration::MAX, Duration::MAX);
        assert_eq!([1, 2, 33].map(|failures| backoff.ceiling(failures)), [Duration::MAX; 3]);
    }

    #[test]
    fn half_of_a_delay_is_left_to_chance() {
        let delays = |spread| [1, 2, 9, u32::MAX].map(|failures| Backoff::RETRY.delay(failures, spread).as_millis());
        assert_eq!(delays(0), [50, 100, 12_800, 15_000]);
        assert_eq!(delays(u32::MAX), [100, 200, 25_600, 30_000]);
    }
}
