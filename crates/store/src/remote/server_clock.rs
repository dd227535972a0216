//! The servers' wall clock, compared with a clock that never jumps.
//!
//! Leases run on the server's wall clock. When that is set forward, they run out before those who hold them know.
//! Nobody can undo this, but whoever takes over such a lease, and has talked to the server before, can see it: then it
//! waits until the last one who may trust in that lease has stopped.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::Instant;

use crate::ElectionKey;
use crate::clock::Clock;

/// Readings of the clocks of all servers of one store.
pub struct ServerClock {
    clock: Clock,
    seen: Mutex<ClockReadings>,
}

#[derive(Default)]
struct ClockReadings {
    /// The last reading of each clock.
    readings: HashMap<String, ClockOffset>,
    jumped_at: Option<Instant>,
    /// The time until which leases that ran out in a jump must not be used.
    held_back: HashMap<ElectionKey, Instant>,
}

/// Lower and upper bound of a server clock's lead over ours, which started at another time.
struct ClockOffset {
    ahead_min_ms: i128,
    ahead_max_ms: i128,
    at: Instant,
}

/// Tolerance: two clocks may run at different rates, within the limits that every window of trust allows for.
const RATE_TOLERANCE: u32 = 9;
const TOLERANCE: Duration = Duration::from_millis(100);

impl ServerClock {
    /// Compares the servers' clocks with this clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, seen: Mutex::default() }
    }

    /// The time at which a request is about to be sent.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Records a reading of a server's clock, taken between `sent` and now. `which` names the clock.
    pub fn read(&self, which: &str, unix_ms: u64, sent: Instant) {
        let at = self.clock.now();
        let ahead_of = |instant: Instant| i128::from(unix_ms) - i128::from(instant.as_nanos() / 1_000_000);
        let reading = ClockOffset { ahead_min_ms: ahead_of(at), ahead_max_ms: ahead_of(sent) + 1, at };
        let mut seen = self.seen();
        if let Some(last) = seen.readings.get(which) {
            let tolerance = TOLERANCE + at.saturating_since(last.at) / RATE_TOLERANCE;
            let jump_ms = reading.ahead_min_ms - last.ahead_max_ms;
            if jump_ms > i128::try_from(tolerance.as_millis()).unwrap_or(i128::MAX) {
                log!(warn, jump_ms, "the server's clock has jumped forward, and leases have expired early");
                seen.jumped_at = Some(at);
            }
        }
        seen.readings.insert(which.to_owned(), reading);
    }

    /// How long a lease that was just granted must not be used yet. `ran_out` is the ttl of the lease before it, if
    /// that was neither resigned nor released.
    pub fn holds_back(&self, election: &ElectionKey, ran_out: Option<Duration>) -> Option<Duration> {
        let now = self.clock.now();
        let mut seen = self.seen();
        if let (Some(ttl), Some(jumped_at)) = (ran_out, seen.jumped_at) {
            // Longer than a whole ttl: their clock may be slower than ours.
            let until = jumped_at + ttl + ttl / 4;
            if now < until {
                seen.held_back.insert(election.clone(), until);
            }
        }
        let until = *seen.held_back.get(election)?;
        if now >= until {
            seen.held_back.remove(election);
        }
        Some(until.saturating_since(now)).filter(|left| !left.is_zero())
    }

    /// No thread panics while holding it.
    fn seen(&self) -> MutexGuard<'_, ClockReadings> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_core::{ElectionName, Namespace};

    use super::*;
    use crate::testing::VirtualClock;

    const TTL: Duration = Duration::from_secs(30);

    struct ClockWorld {
        local: Arc<VirtualClock>,
        server: ServerClock,
        election: ElectionKey,
    }

    impl ClockWorld {
        fn new() -> Self {
            let local = VirtualClock::new();
            let server = ServerClock::new(Clock::controlled_by(&local));
            let election = ElectionKey { namespace: Namespace::default(), name: ElectionName::new("a").unwrap() };
            Self { local, server, election }
        }

        fn reads(&self, unix_ms: u64, took: Duration) {
            let sent = self.server.now();
            self.local.advance(took);
            self.server.read("", unix_ms, sent);
        }
    }

    #[test]
    fn a_lease_that_ran_out_in_a_jump_is_held_back_until_it_would_have_run_out() {
        let world = ClockWorld::new();
        world.reads(1_000_000, Duration::ZERO);
        world.local.advance(Duration::from_secs(10));
        world.reads(1_070_000, Duration::ZERO);
        let left = world.server.holds_back(&world.election, Some(TTL)).unwrap();
        assert_eq!(left, TTL + TTL / 4);
        world.local.advance(left / 2);
        // Asked again, it is found to be ours already, and is still held back.
        assert_eq!(world.server.holds_back(&world.election, None), Some(left - left / 2));
        world.local.advance(left);
        assert_eq!(world.server.holds_back(&world.election, None), None);
        assert_eq!(world.server.holds_back(&world.election, Some(TTL)), None, "the jump is long ago");
    }

    #[test]
    fn a_lease_that_was_given_up_is_not_held_back() {
        let world = ClockWorld::new();
        world.reads(1_000_000, Duration::ZERO);
        world.reads(1_070_000, Duration::ZERO);
        assert_eq!(world.server.holds_back(&world.election, None), None);
    }

    #[test]
    fn slow_answers_drift_and_clocks_that_go_back_are_no_jumps() {
        let world = ClockWorld::new();
        world.reads(1_000_000, Duration::ZERO);
        // Read just before it arrived, and read just after it was sent.
        world.reads(1_005_000, Duration::from_secs(5));
        world.reads(1_005_000, Duration::from_secs(5));
        world.reads(1_015_000, Duration::from_secs(5));
        world.local.advance(Duration::from_secs(90));
        world.reads(1_015_000 + 95_000, Duration::ZERO);
        world.reads(900_000, Duration::ZERO);
        assert_eq!(world.server.holds_back(&world.election, Some(TTL)), None);
    }
}
