//! Noticing that the wall clock was set.

use crate::time::Instant;

/// A wall clock that moves so much against the other one was set. Less than that happens when it is slewed.
const STEP_MS: u64 = 1_000;

/// The wall clock of this machine, compared with the clock that nobody sets.
#[derive(Debug, Clone, Default)]
pub(super) struct WallClock {
    /// What it showed when the other clock was at zero, as of the last look; `None` before the first.
    zero_ms: Option<u64>,
}

impl WallClock {
    /// Whether it was set since the last look.
    pub(super) fn was_set(&mut self, now: Instant, unix_ms: u64) -> bool {
        let zero_ms = unix_ms.saturating_sub(now.as_nanos() / 1_000_000);
        let before_ms = self.zero_ms.replace(zero_ms);
        before_ms.is_some_and(|before_ms| zero_ms.abs_diff(before_ms) >= STEP_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_slewed_was_not_set_and_one_that_jumps_was() {
        let mut clock = WallClock::default();
        let mut was_set = |seconds: u64, unix_ms| clock.was_set(Instant::from_nanos(seconds * 1_000_000_000), unix_ms);
        assert!(!was_set(10, 50_000), "nothing is known before the first look");
        assert!(!was_set(20, 60_999));
        assert!(!was_set(30, 70_999));
        assert!(was_set(40, 82_000));
        assert!(was_set(50, 90_000), "back as well");
        assert!(!was_set(60, 100_000));
    }
}
