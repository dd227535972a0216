//! Waiting for the file's write lock.

use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};

use tenure_store::Backoff;

/// The total wait for one lock: longer than any of our transactions takes, shorter than any sensible attempt.
const PATIENCE: Duration = Duration::from_secs(1);
const WAIT: Backoff = Backoff::new(Duration::from_micros(50), Duration::from_millis(2));

/// Waits for short times of random length: SQLite's own handler backs off to 100 ms, and so one process can keep
/// another out for seconds; and two that wait equally long collide again and again.
#[derive(Debug)]
pub(super) struct BusyWait {
    random: u64,
    since: Instant,
}

thread_local! {
    static OF_THIS_THREAD: RefCell<BusyWait> = RefCell::new(BusyWait::new());
}

/// SQLite calls this before the attempt after `failed` ones: a thread waits for one lock at a time.
pub(super) fn wait_for_lock(failed: i32) -> bool {
    OF_THIS_THREAD.with_borrow_mut(|patience| patience.wait(u32::try_from(failed).unwrap_or(u32::MAX)))
}

impl BusyWait {
    pub(super) fn new() -> Self {
        let seed = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
        Self { random: seed | 1, since: Instant::now() }
    }

    /// Waits a little before the attempt after `failed` ones. False when it has waited long enough.
    pub(super) fn wait(&mut self, failed: u32) -> bool {
        if failed == 0 {
            self.since = Instant::now();
        }
        if self.since.elapsed() >= PATIENCE {
            return false;
        }
        thread::sleep(WAIT.delay(failed.saturating_add(1), self.spread()));
        true
    }

    /// Any number, by xorshift: it spreads waits and guards nothing.
    fn spread(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        u32::try_from(self.random >> 32).unwrap_or(u32::MAX)
    }
}
