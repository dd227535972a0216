//! The durations of the candidates of a test.

use std::time::Duration;

use tenure_core::Timing;

/// The durations of a lease: as options of the command, and as what they promise.
#[derive(Debug, Clone, Copy)]
pub struct TestTiming {
    ttl: Duration,
    renew_every: Duration,
    grace: Duration,
}

impl TestTiming {
    /// Short enough to wait for an expiry in a test.
    pub const SHORT: Self = Self::from_millis(3_000, 500, 300);
    /// A lease and a grace that no test can wait out.
    pub const PATIENT: Self = Self::from_millis(600_000, 10_000, 100_000);

    /// Other durations, for a test that needs them.
    #[must_use]
    pub const fn from_millis(ttl: u64, renew_every: u64, grace: u64) -> Self {
        Self {
            ttl: Duration::from_millis(ttl),
            renew_every: Duration::from_millis(renew_every),
            grace: Duration::from_millis(grace),
        }
    }

    /// As `tenure run`, `elect` and `doctor` take it.
    #[must_use]
    pub fn options(&self) -> [String; 6] {
        let written = |duration: Duration| format!("{}ms", duration.as_millis());
        let [ttl, renew, grace] = [self.ttl, self.renew_every, self.grace].map(written);
        ["--ttl".into(), ttl, "--renew".into(), renew, "--grace".into(), grace]
    }

    /// As the library takes it, with all that follows from it.
    #[must_use]
    pub fn validated(&self) -> Timing {
        let timing = Timing::builder(self.ttl).renew_every(self.renew_every).grace(self.grace).build();
        timing.expect("durations that no candidate would refuse")
    }

    /// The longest time that one of these many candidates takes to follow a leader that crashed, and what a busy machine adds:
    /// exact figures are for the simulation and for benchmarks.
    #[must_use]
    pub fn max_failover(&self, candidates: u32) -> Duration {
        const BUSY: Duration = Duration::from_secs(8);
        self.validated().predict(candidates).max_failover + BUSY
    }

    /// A little longer than a lease lives that is not renewed.
    #[must_use]
    pub fn more_than_a_lease(&self) -> Duration {
        self.ttl + self.ttl / 10
    }
}
