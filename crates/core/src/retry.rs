//! How long to wait before something that failed is tried again.

use std::time::Duration;

/// The delay after the first failure; it doubles with every further one.
pub const RETRY_FIRST: Duration = Duration::from_millis(100);
/// The longest wait.
const RETRY_LONGEST: Duration = Duration::from_secs(30);

/// Exponential back-off with jitter. `spread` is 0 for the earliest moment, and `u32::MAX` for the latest.
#[must_use]
pub fn retry_after(failures: u32, spread: u32) -> Duration {
    let ceiling = RETRY_FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(RETRY_LONGEST);
    ceiling / 2 + (ceiling / 2).mul_f64(f64::from(spread) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_wait_longer_and_longer_but_never_too_long() {
        let waits: Vec<Duration> = (1..20).map(|failures| retry_after(failures, u32::MAX)).collect();
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!((waits[0], *waits.last().unwrap()), (RETRY_FIRST, RETRY_LONGEST));
        assert_eq!(retry_after(u32::MAX, 0), RETRY_LONGEST / 2);
    }
}
