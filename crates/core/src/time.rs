//! The core's own instant: a number of nanoseconds that can be printed, hashed and replayed.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point on one candidate's own clock, in nanoseconds since that clock's zero.
///
/// Outside of simulations the clock is `CLOCK_BOOTTIME`, which goes on counting while the machine is suspended. Two
/// instants may be compared only when they come from the same clock; that is why nothing here speaks of dates.
///
/// ```
/// use std::time::Duration;
/// # use tenure_core as tenure;
/// use tenure::Instant;
///
/// let sent_at = Instant::from_nanos(5_000_000_000);
/// let trusted_until = sent_at + Duration::from_secs(12);
/// assert_eq!(trusted_until.saturating_since(sent_at), Duration::from_secs(12));
/// assert_eq!(sent_at.saturating_since(trusted_until), Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The clock's zero: earlier than, or equal to, every other instant.
    pub const ZERO: Self = Self(0);
    /// Later than any instant a clock will ever show (about 584 years).
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The instant this many nanoseconds after the clock's zero.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's zero.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time since `earlier`; zero if that is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates at [`Instant::FAR_FUTURE`].
impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos_of(duration)))
    }
}

/// Saturates at [`Instant::ZERO`]: trust that would have ended before the clock began has simply ended.
impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos_of(duration)))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

fn nanos_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Instant::ZERO - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(Instant::FAR_FUTURE + Duration::MAX, Instant::FAR_FUTURE);
    }

    #[test]
    fn prints_seconds_and_nanoseconds() {
        assert_eq!(format!("{:?}", Instant::from_nanos(1_000_000_002)), "1.000000002s");
    }
}
