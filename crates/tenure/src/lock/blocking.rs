//! The same for plain threads: no async runtime needed.

use super::{Lock, LockGuard};
use crate::blocking::block_on;
use crate::error::Error;
use crate::leadership::Leadership;

impl Lock {
    /// [`acquire`](Self::acquire) for plain threads.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn acquire_blocking(&self) -> Result<LockGuard, Error> {
        block_on(self.acquire())
    }

    /// [`try_acquire`](Self::try_acquire) for plain threads.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_blocking(&self) -> Result<Option<LockGuard>, Error> {
        block_on(self.try_acquire())
    }

    /// [`with_lock`](Self::with_lock) for plain threads.
    ///
    /// The work is asked to stop through its [`Leadership`]; nothing can end it by force.
    ///
    /// # Errors
    /// As [`with_lock`](Self::with_lock).
    pub fn with_lock_blocking<T>(&self, work: impl FnOnce(Leadership) -> T) -> Result<T, Error> {
        block_on(self.with_lock(|leadership| {
            let result = work(leadership);
            async { result }
        }))
    }
}

impl LockGuard {
    /// [`release`](Self::release) for plain threads.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn release_blocking(self) -> Result<(), Error> {
        block_on(self.release())
    }
}
