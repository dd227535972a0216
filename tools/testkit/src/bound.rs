//! How long something took, next to how long it may take.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What `CLOCK_BOOTTIME` shows, which all processes of this machine share.
#[must_use]
pub fn boot_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    u64::try_from(now.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap()
}

/// Prints what was measured beside what is promised, and fails when it is more.
pub fn within(what: &str, took: Duration, promised: Duration) {
    println!("{what} {took:.1?}, promised {promised:.1?}");
    assert!(took <= promised, "{what} took {took:?}, and {promised:?} is promised");
}

/// The same for what began and ended on the clock that all processes share. An end before the beginning took no time.
pub fn within_ns(what: &str, from_ns: u64, to_ns: u64, promised: Duration) {
    within(what, Duration::from_nanos(to_ns.saturating_sub(from_ns)), promised);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promise_itself_is_kept_and_no_more() {
        within("on time", Duration::from_secs(1), Duration::from_secs(1));
        within_ns("before its time", 2, 1, Duration::ZERO);
        let late = || within("late", Duration::from_millis(1001), Duration::from_secs(1));
        assert!(std::panic::catch_unwind(late).is_err());
    }
}
