//! A leader's wall clock that is ahead of the store's.

use std::time::Duration;

use super::tick::Tick;

/// By how much less a wall clock counts than it shows.
///
/// A ledger refuses a tick that is early on the store's clock, and says by how much. Without a correction the leader would
/// come again with a tick that is as early as the first, or would take one that had to wait for one that was missed.
///
/// A correction wears off, and is not believed for long: either clock may have been put right meanwhile. If none was, the
/// ledger says so again.
#[derive(Debug, Clone, Default)]
pub(super) struct Correction {
    by_ms: u64,
    /// What the clock showed then.
    since_ms: u64,
    /// What it showed when something was last asked of the ledger.
    asked_ms: u64,
}

/// A second of it is gone after so many.
const WEARS_OFF: u64 = 16;
/// How long it is believed at all.
const BELIEVED_MS: u64 = 60_000;

impl Correction {
    /// What the clock should show instead of this.
    pub(super) fn read(&mut self, shown_ms: u64) -> u64 {
        let Some(passed) = shown_ms.checked_sub(self.since_ms) else {
            // It was set back, and what was known of it no longer holds.
            *self = Self::default();
            return shown_ms;
        };
        let left_ms = if passed < BELIEVED_MS { self.by_ms.saturating_sub(passed / WEARS_OFF) } else { 0 };
        shown_ms.saturating_sub(left_ms)
    }

    /// What the clock shows when it should show this.
    pub(super) fn shown_at(&self, should_ms: u64) -> u64 {
        let missing = should_ms.saturating_add(self.by_ms).saturating_sub(self.since_ms);
        let passed = u128::from(missing) * u128::from(WEARS_OFF);
        let passed = u64::try_from(passed.div_ceil(u128::from(WEARS_OFF) + 1)).unwrap_or(u64::MAX);
        should_ms.max(self.since_ms.saturating_add(passed.min(BELIEVED_MS)))
    }

    /// Something is asked of the ledger.
    pub(super) fn asked(&mut self, shown_ms: u64) {
        self.asked_ms = shown_ms;
    }

    /// The ledger has said that this tick is ahead of the store's clock.
    pub(super) fn refused(&mut self, tick: Tick, by: Duration) {
        let by_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        let at_store_ms = tick.unix_ms().saturating_sub(by_ms);
        *self =
            Self { by_ms: self.asked_ms.saturating_sub(at_store_ms), since_ms: self.asked_ms, asked_ms: self.asked_ms };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 100 s the ledger says that it is only 90 s.
    fn ten_ahead() -> Correction {
        let mut correction = Correction::default();
        correction.asked(100_000);
        correction.refused(Tick::from_unix_s(95), Duration::from_secs(5));
        correction
    }

    #[test]
    fn a_clock_that_is_ahead_is_read_as_the_stores_and_is_believed_more_and_more() {
        let mut clock = ten_ahead();
        let read: Vec<u64> = [100, 116, 132, 159, 160].iter().map(|shown| clock.read(shown * 1000) / 1000).collect();
        assert_eq!(read, [90, 107, 124, 152, 160]);
    }

    #[test]
    fn a_clock_that_is_set_back_is_believed_for_good() {
        let mut clock = ten_ahead();
        assert_eq!(clock.read(99_999), 99_999);
        assert_eq!(clock.read(100_001), 100_001);
    }

    #[test]
    fn what_is_waited_for_is_the_first_moment_that_reads_so() {
        for should in [90_001, 90_017, 95_000, 123_456, 153_700, 153_800, 160_000, 300_000] {
            let shown = ten_ahead().shown_at(should);
            assert!(ten_ahead().read(shown) >= should, "{should}");
            assert!(ten_ahead().read(shown - 1) < should, "{should}");
        }
    }
}
