//! The wall clock, as far as it can be believed.

use std::time::Duration;

use tenure_core::Instant;

use crate::clock::Clock;

/// What was learnt of a wrong clock is forgotten after this: long enough to be cheap, and short enough to notice that somebody
/// has set it right by and by.
const LEARNT_FOR: Duration = Duration::from_secs(60);
/// A wall clock that moves so much against the other one was set. Less than that happens when it is slewed.
const STEP_MS: u64 = 1_000;

/// The wall clock of this machine, less what it is known to be ahead of the store's.
#[derive(Debug)]
pub(super) struct Wall {
    clock: Clock,
    /// What the wall clock showed when the other one was at zero, as of the last look.
    zero_ms: u64,
    ahead: Option<Ahead>,
}

#[derive(Debug, Clone, Copy)]
struct Ahead {
    by_ms: u64,
    until: Instant,
}

/// A look at the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// In milliseconds since the Unix epoch.
    pub(super) unix_ms: u64,
    /// Whether the clock was set since the last look.
    pub(super) was_set: bool,
}

impl Wall {
    pub(super) fn new(clock: Clock) -> Self {
        let zero_ms = zero_ms(&clock);
        Self { clock, zero_ms, ahead: None }
    }

    pub(super) fn look(&mut self) -> Look {
        let zero_ms = zero_ms(&self.clock);
        let was_set = zero_ms.abs_diff(self.zero_ms) >= STEP_MS;
        self.zero_ms = zero_ms;
        let now = self.clock.now();
        self.ahead.take_if(|ahead| was_set || ahead.until <= now);
        Look { unix_ms: self.unix_ms(), was_set }
    }

    /// The time as of now, by what was known at the last look.
    pub(super) fn unix_ms(&self) -> u64 {
        self.own_ms().saturating_sub(self.ahead.map_or(0, |ahead| ahead.by_ms))
    }

    /// What this machine's own clock shows.
    pub(super) fn own_ms(&self) -> u64 {
        self.clock.unix_ms()
    }

    /// The store's clock showed this when ours showed `own_ms`. Returns by how much ours is ahead.
    pub(super) fn learn(&mut self, own_ms: u64, store_ms: u64) -> Duration {
        let by_ms = own_ms.saturating_sub(store_ms);
        self.ahead = Some(Ahead { by_ms, until: self.clock.now() + LEARNT_FOR });
        Duration::from_millis(by_ms)
    }
}

fn zero_ms(clock: &Clock) -> u64 {
    clock.unix_ms().saturating_sub(clock.now().as_nanos() / 1_000_000)
}
