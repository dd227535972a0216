//! When a job is due.

use std::fmt;
use std::time::Duration;

/// An instant at which a job is due: a whole second of the wall clock, since the Unix epoch. Together with the job it
/// identifies one firing forever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tick(u64);

impl Tick {
    /// The last one, some 285 million years from now: its milliseconds are exact in every JSON reader.
    pub const MAX: Self = Self((1 << 53) / 1000);

    /// Creates the tick at this many seconds after the Unix epoch, at most [`Tick::MAX`].
    #[must_use]
    pub const fn from_unix_s(seconds: u64) -> Self {
        if seconds < Self::MAX.0 { Self(seconds) } else { Self::MAX }
    }

    /// Creates the tick of the last whole second at or before this many milliseconds after the Unix epoch.
    #[must_use]
    pub const fn at_or_before_ms(unix_ms: u64) -> Self {
        Self::from_unix_s(unix_ms / 1000)
    }

    /// Returns the tick in seconds since the Unix epoch.
    #[must_use]
    pub const fn unix_s(self) -> u64 {
        self.0
    }

    /// Returns the tick in milliseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_ms(self) -> u64 {
        self.0 * 1000
    }

    /// Returns the time from the tick until `unix_ms`, in milliseconds since the Unix epoch; zero if that is before the tick.
    #[must_use]
    pub const fn age_at(self, unix_ms: u64) -> Duration {
        Duration::from_millis(unix_ms.saturating_sub(self.unix_ms()))
    }

    /// Returns the time from `unix_ms`, in milliseconds since the Unix epoch, until the tick; zero if that is after the tick.
    #[must_use]
    pub const fn ahead_of(self, unix_ms: u64) -> Duration {
        Duration::from_millis(self.unix_ms().saturating_sub(unix_ms))
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
