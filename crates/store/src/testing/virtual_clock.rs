//! A clock that moves when a test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::Instant;
use tokio::sync::watch;

/// A clock that stands still until it is moved. Everything that waits for it wakes up when it is.
///
/// ```
/// use std::time::Duration;
/// use tenure::Clock;
/// use tenure::testing::VirtualClock;
///
/// let hands = VirtualClock::new();
/// let clock = Clock::controlled_by(&hands);
/// let before = clock.now();
/// hands.advance(Duration::from_secs(3600));
/// assert_eq!(clock.now().saturating_since(before), Duration::from_secs(3600));
/// ```
#[derive(Debug)]
pub struct VirtualClock {
    nanos: AtomicU64,
    /// What the wall clock shows when this one shows zero, in milliseconds since the Unix epoch.
    wall_zero_ms: AtomicU64,
    moved: watch::Sender<()>,
}

/// A wall clock shows 2030-01-01 00:00:00 UTC in the beginning, when this clock shows one second.
const WALL_ZERO_MS: u64 = 1_893_456_000_000 - 1_000;

impl VirtualClock {
    /// A clock that shows one second past its zero.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            nanos: AtomicU64::new(1_000_000_000),
            wall_zero_ms: AtomicU64::new(WALL_ZERO_MS),
            moved: watch::Sender::new(()),
        })
    }

    /// What it shows.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(self.nanos.load(Ordering::Acquire))
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::AcqRel);
        self.moved.send_replace(());
    }

    /// What a wall clock shows beside it, in milliseconds since the Unix epoch. It begins with 2030-01-01 00:00:00 UTC.
    #[must_use]
    pub fn unix_ms(&self) -> u64 {
        self.wall_zero_ms.load(Ordering::Acquire) + self.now().as_nanos() / 1_000_000
    }

    /// Sets the wall clock, forward or back, as an administrator would; this clock goes on as before.
    pub fn set_unix_ms(&self, unix_ms: u64) {
        let zero = unix_ms.saturating_sub(self.now().as_nanos() / 1_000_000);
        self.wall_zero_ms.store(zero, Ordering::Release);
        self.moved.send_replace(());
    }

    pub(crate) async fn sleep_until(&self, at: Instant) {
        let mut moved = self.moved.subscribe();
        while self.now() < at {
            if moved.changed().await.is_err() {
                return;
            }
        }
    }
}
