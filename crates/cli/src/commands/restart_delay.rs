//! The pause before a command that exited by itself is started again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tenure_core::Backoff;

/// Grows with every quick end in a row.
#[derive(Debug, Default)]
pub(super) struct RestartDelay {
    quick_ends: u32,
}

impl RestartDelay {
    /// How long to wait after a run that took so long: not at all after a long one; otherwise up to twice as long as the
    /// last time, within the bounds of [`AFTER_QUICK_ENDS`].
    pub(super) fn after(&mut self, took: Duration) -> Duration {
        self.after_by(took, chance())
    }

    fn after_by(&mut self, took: Duration, spread: u32) -> Duration {
        if took >= LONG_ENOUGH {
            self.quick_ends = 0;
            return Duration::ZERO;
        }
        self.quick_ends = self.quick_ends.saturating_add(1);
        AFTER_QUICK_ENDS.delay(self.quick_ends, spread)
    }
}

/// Any number. Each state of a hash map is seeded at random.
fn chance() -> u32 {
    let [a, b, c, d, ..] = RandomState::new().hash_one(()).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

const AFTER_QUICK_ENDS: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
/// What ran for so long does not end in a loop that anybody would feel.
const LONG_ENOUGH: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(took: Duration, spread: u32) -> Vec<u128> {
        let mut delay = RestartDelay::default();
        (0..9).map(|_| delay.after_by(took, spread).as_millis()).collect()
    }

    #[test]
    fn quick_ends_in_a_row_are_waited_for_longer_and_longer_up_to_a_bound() {
        assert_eq!(waits(Duration::ZERO, 0), [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
        assert_eq!(waits(Duration::ZERO, u32::MAX), [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn a_long_run_is_not_waited_for_and_begins_anew() {
        let mut delay = RestartDelay::default();
        for _ in 0..5 {
            delay.after(Duration::ZERO);
        }
        assert_eq!(delay.after(LONG_ENOUGH), Duration::ZERO);
        assert!(delay.after(Duration::ZERO) <= AFTER_QUICK_ENDS.ceiling(1));
    }
}
