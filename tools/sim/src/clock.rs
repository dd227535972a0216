//! Clocks that run at rates of their own.

use tenure_core::{Drift, Instant};

/// True time: nanoseconds that nobody in the simulated world can read.
pub(crate) type SimTime = u64;

pub(crate) const MILLI: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MILLI;

/// How fast a clock runs: 2^32 is as fast as true time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate(u64);

impl Rate {
    const EXACT: u64 = 1 << 32;
    const STOPPED: Self = Self(0);

    /// As fast as true time times `1 + drift * part / 1000`; a `part` of plus or minus 1000 is as wrong as is allowed.
    pub(crate) fn drifting(drift: Drift, part: i32) -> Self {
        // One part in a billion inside the bound, because rounding must not leave it.
        let allowed = f64::from(drift.ppb() - 1) / 1e9;
        let factor = 1.0 + allowed * f64::from(part) / 1000.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 2^31 and 2^33")]
        Self((Self::EXACT as f64 * factor) as u64)
    }
}

/// A clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SimClock {
    /// When it was last set, and what it showed then.
    since: SimTime,
    shown: u64,
    rate: Rate,
    /// The rate it goes on with when it is no longer stopped.
    resumes: Rate,
}

impl SimClock {
    pub(crate) fn new(shown: u64, rate: Rate) -> Self {
        Self { since: 0, shown, rate, resumes: rate }
    }

    pub(crate) fn at(&self, now: SimTime) -> Instant {
        let passed = (u128::from(now.saturating_sub(self.since)) * u128::from(self.rate.0)) >> 32;
        Instant::from_nanos(self.shown + u64::try_from(passed).unwrap_or(u64::MAX / 2))
    }

    /// The first true time at which it shows `at` or more, if nobody touches it; never, while it is stopped.
    pub(crate) fn when(&self, at: Instant) -> Option<SimTime> {
        let missing = at.as_nanos().saturating_sub(self.shown);
        if missing == 0 {
            return Some(self.since);
        }
        let passed = (u128::from(missing) << 32).checked_div(u128::from(self.rate.0))? + 1;
        Some(self.since.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX)))
    }

    /// From now on it runs at this rate.
    pub(crate) fn set_rate(&mut self, now: SimTime, rate: Rate) {
        self.rebase(now);
        self.resumes = rate;
        if self.rate != Rate::STOPPED {
            self.rate = rate;
        }
    }

    /// It stops, as clocks do in a machine that is paused from outside.
    pub(crate) fn stop(&mut self, now: SimTime) {
        self.rebase(now);
        self.rate = Rate::STOPPED;
    }

    pub(crate) fn go_on(&mut self, now: SimTime) {
        self.rebase(now);
        self.rate = self.resumes;
    }

    /// Somebody sets it.
    pub(crate) fn step(&mut self, now: SimTime, by: i64) {
        self.rebase(now);
        self.shown = self.shown.saturating_add_signed(by);
    }

    fn rebase(&mut self, now: SimTime) {
        self.shown = self.at(now).as_nanos();
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fastest() -> Rate {
        Rate::drifting(Drift::ONE_NINTH, 1000)
    }

    #[test]
    fn rates_reach_the_bound_and_do_not_leave_it() {
        for (part, bound) in [(1000, 1.0 + 1.0 / 9.0), (-1000, 1.0 - 1.0 / 9.0)] {
            let clock = SimClock::new(0, Rate::drifting(Drift::ONE_NINTH, part));
            let shown = clock.at(1_000_000 * SECOND).as_nanos() as f64 / (1_000_000 * SECOND) as f64;
            assert!((shown - bound).abs() < 1e-8, "{shown}");
        }
    }

    #[test]
    fn when_is_the_first_instant_that_shows_it() {
        let clock = SimClock::new(17, fastest());
        for at in [18, 1_000, SECOND, 86_400 * SECOND] {
            let when = clock.when(Instant::from_nanos(at)).unwrap();
            assert!(clock.at(when).as_nanos() >= at, "{at}");
            assert!(clock.at(when.saturating_sub(3)).as_nanos() < at, "{at}");
        }
    }

    #[test]
    fn a_stopped_clock_stands_still_and_goes_on_where_it_stood() {
        let mut clock = SimClock::new(0, fastest());
        clock.stop(SECOND);
        let stood = clock.at(9 * SECOND);
        assert_eq!(stood, clock.at(SECOND));
        assert_eq!(clock.when(stood + std::time::Duration::from_secs(1)), None);
        clock.go_on(9 * SECOND);
        assert!(clock.at(10 * SECOND) > stood);
    }

    #[test]
    fn a_step_is_seen_at_once() {
        let mut clock = SimClock::new(SECOND, fastest());
        clock.step(0, -500_000_000);
        assert_eq!(clock.at(0).as_nanos(), SECOND / 2);
    }
}
