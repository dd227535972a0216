//! Locks for plain threads.

use std::time::Duration;

use tenure_core::{CandidateId, ElectionName, Preset, Priority, Term, Timing};

use crate::block_on::block_on;
use crate::error::Error;
use crate::leadership::Leadership;

/// A [`Lock`](crate::Lock) for plain threads.
///
/// ```
/// use std::time::Duration;
/// use tenure::blocking::Client;
///
/// let client = Client::open("memory:")?;
/// let lock = client.lock("migrate")?.max_wait(Duration::from_secs(10));
/// let guard = lock.acquire()?;
/// println!("migrating under term {}", guard.term());
/// assert!(lock.try_acquire()?.is_none(), "one holder at a time");
/// guard.release()?;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a lock is not held before it is acquired"]
pub struct Lock(crate::Lock);

wraps!(Lock, crate::Lock);

impl Lock {
    /// The same as [`max_wait`](crate::Lock::max_wait).
    pub fn max_wait(self, limit: Duration) -> Self {
        Self(self.0.max_wait(limit))
    }

    /// The same as [`timing`](crate::Lock::timing).
    pub fn timing(self, timing: Timing) -> Self {
        Self(self.0.timing(timing))
    }

    /// The same as [`preset`](crate::Lock::preset).
    pub fn preset(self, preset: Preset) -> Self {
        Self(self.0.preset(preset))
    }

    /// The same as [`ttl`](crate::Lock::ttl).
    pub fn ttl(self, ttl: Duration) -> Self {
        Self(self.0.ttl(ttl))
    }

    /// The same as [`id`](crate::Lock::id).
    pub fn id(self, id: impl TryInto<CandidateId, Error: Into<Error>>) -> Self {
        Self(self.0.id(id))
    }

    /// The same as [`priority`](crate::Lock::priority).
    pub fn priority(self, priority: impl TryInto<Priority, Error: Into<Error>>) -> Self {
        Self(self.0.priority(priority))
    }

    /// The same as [`metadata`](crate::Lock::metadata).
    pub fn metadata(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        Self(self.0.metadata(key, value))
    }

    forward! { crate::Lock:
        #[must_use]
        fn name(&self) -> &ElectionName;
    }

    /// [`acquire`](crate::Lock::acquire) for plain threads.
    ///
    /// # Errors
    /// As there.
    pub fn acquire(&self) -> Result<LockGuard, Error> {
        block_on(self.0.acquire()).map(LockGuard)
    }

    /// [`try_acquire`](crate::Lock::try_acquire) for plain threads.
    ///
    /// # Errors
    /// As there.
    pub fn try_acquire(&self) -> Result<Option<LockGuard>, Error> {
        Ok(block_on(self.0.try_acquire())?.map(LockGuard))
    }

    /// [`with_lock`](crate::Lock::with_lock) for plain threads.
    ///
    /// The work is asked to stop through its [`Leadership`]; nothing can end it by force.
    ///
    /// # Errors
    /// As there.
    pub fn with_lock<T>(&self, work: impl FnOnce(Leadership) -> T) -> Result<T, Error> {
        block_on(self.0.with_lock(|leadership| {
            let result = work(leadership);
            async { result }
        }))
    }
}

/// A [`LockGuard`](crate::LockGuard) for plain threads. Dropping it releases the lock in the background.
#[must_use = "the lock is released when its guard is dropped"]
#[derive(Debug)]
pub struct LockGuard(crate::LockGuard);

wraps!(LockGuard, crate::LockGuard);

impl LockGuard {
    forward! { crate::LockGuard:
        #[must_use]
        fn name(&self) -> &ElectionName;
        #[must_use]
        fn leadership(&self) -> &Leadership;
        #[must_use]
        fn term(&self) -> Term;
        #[must_use]
        fn is_held(&self) -> bool;
    }

    /// [`lost`](crate::LockGuard::lost) for plain threads: waits until the lock is lost.
    pub fn lost(&self) {
        block_on(self.0.lost());
    }

    /// [`release`](crate::LockGuard::release) for plain threads.
    ///
    /// # Errors
    /// As there.
    pub fn release(self) -> Result<(), Error> {
        block_on(self.0.release())
    }
}
