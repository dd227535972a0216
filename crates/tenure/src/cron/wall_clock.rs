//! The wall clock, and noticing that it was set.

use crate::clock::Clock;

/// A wall clock that moves so much against the other one was set. Less than that happens when it is slewed.
const STEP_MS: u64 = 1_000;

/// The wall clock of this machine.
#[derive(Debug)]
pub(super) struct WallClock {
    clock: Clock,
    /// What it showed when the other clock was at zero, as of the last look.
    zero_ms: u64,
}

/// A look at the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WallReading {
    /// In milliseconds since the Unix epoch.
    pub(super) unix_ms: u64,
    /// Whether the clock was set since the last look.
    pub(super) was_set: bool,
}

impl WallClock {
    pub(super) fn new(clock: Clock) -> Self {
        let mut wall_clock = Self { clock, zero_ms: 0 };
        wall_clock.look();
        wall_clock
    }

    pub(super) fn look(&mut self) -> WallReading {
        let unix_ms = self.clock.unix_ms();
        let zero_ms = unix_ms.saturating_sub(self.clock.now().as_nanos() / 1_000_000);
        let before_ms = std::mem::replace(&mut self.zero_ms, zero_ms);
        WallReading { unix_ms, was_set: zero_ms.abs_diff(before_ms) >= STEP_MS }
    }
}
