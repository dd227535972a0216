//! Waiting for the file's write lock.

use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};

/// The total wait for one lock: longer than any of our transactions takes, shorter than any sensible attempt.
const PATIENCE: Duration = Duration::from_secs(1);
const SHORTEST_WAIT: Duration = Duration::from_micros(50);
const LONGEST_WAIT: Duration = Duration::from_millis(2);

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
        let wait = (SHORTEST_WAIT * 2u32.saturating_pow(failed.min(6))).min(LONGEST_WAIT);
        thread::sleep(wait / 2 + wait.mul_f64(self.fraction() / 2.0));
        true
    }

    /// A number from 0 to 1, by xorshift: it spreads waits and guards nothing.
    fn fraction(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        f64::from(u16::try_from(self.random >> 48).unwrap_or(u16::MAX)) / f64::from(u16::MAX)
    }
}
