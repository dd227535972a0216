//! The pause before a command that exited by itself is started again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Grows with every quick end in a row.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    quick_ends: u32,
}

impl Backoff {
    /// How long to wait after a run that took so long: not at all after a long one; otherwise up to twice as long as the
    /// last time, and at most [`LONGEST`]. Half of it is left to chance, so that those who fail together do not come back
    /// together.
    pub(super) fn after(&mut self, took: Duration) -> Duration {
        self.after_by(took, RandomState::new().hash_one(self.quick_ends))
    }

    fn after_by(&mut self, took: Duration, chance: u64) -> Duration {
        if took >= LONG_ENOUGH {
            self.quick_ends = 0;
            return Duration::ZERO;
        }
        let whole = SHORTEST.saturating_mul(2_u32.saturating_pow(self.quick_ends)).min(LONGEST);
        self.quick_ends = self.quick_ends.saturating_add(1);
        let half_ms = u64::try_from(whole.as_millis() / 2).unwrap_or(u64::MAX);
        Duration::from_millis(half_ms + chance % (half_ms + 1))
    }
}

const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
/// What ran for so long does not end in a loop that anybody would feel.
const LONG_ENOUGH: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(took: Duration, chance: u64) -> Vec<u128> {
        let mut backoff = Backoff::default();
        (0..9).map(|_| backoff.after_by(took, chance).as_millis()).collect()
    }

    #[test]
    fn quick_ends_in_a_row_are_waited_for_longer_and_longer_up_to_a_bound() {
        assert_eq!(waits(Duration::ZERO, 0), [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
        let most: Vec<_> = (0..9).map(|n| 250_u128 << n).map(|half| (half * 2).min(30_000)).collect();
        let mut backoff = Backoff::default();
        for most in most {
            // The chance that gives the whole of it.
            let half = u64::try_from(most / 2).unwrap();
            assert_eq!(backoff.after_by(Duration::ZERO, half).as_millis(), most);
        }
    }

    #[test]
    fn a_long_run_is_not_waited_for_and_begins_anew() {
        let mut backoff = Backoff::default();
        for _ in 0..5 {
            backoff.after(Duration::ZERO);
        }
        assert_eq!(backoff.after(LONG_ENOUGH), Duration::ZERO);
        assert!(backoff.after(Duration::ZERO) <= SHORTEST);
    }
}
