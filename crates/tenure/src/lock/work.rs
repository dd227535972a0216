//! Work that runs once under a lock.

use std::future::Future;
use std::pin::pin;

use futures_util::future::{Either, select};

use super::Lock;
use crate::error::Error;
use crate::leadership::Leadership;

impl Lock {
    /// Acquires the lock, runs the work once, releases the lock, and returns the result of the work.
    ///
    /// When the lock is lost meanwhile, [`Leadership::cancelled`] completes and the work has the grace to return; a future
    /// that is still not done is dropped. Work that returns while its term is still [valid](Leadership::is_valid) was
    /// protected to its end, so its result is returned, even if it was told to stop: let the result say whether it is
    /// whole. Work that was dropped, or ended later than that, ends in [`Error::LockLost`]. It is not run again.
    ///
    /// The work runs in the caller's task, so it needs no runtime but its own. Dropping this future drops the work at
    /// once and releases the lock in the background; a panic in the work does the same.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let client = tenure::Client::open("memory:")?;
    /// let lock = client.lock("migrate")?;
    /// let done = lock.with_lock(async |leadership| format!("migrated under term {}", leadership.term())).await?;
    /// assert_eq!(done, "migrated under term 1");
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire), and [`Error::LockLost`].
    pub async fn with_lock<T, F>(&self, work: impl FnOnce(Leadership) -> F) -> Result<T, Error>
    where
        F: Future<Output = T>,
    {
        let guard = self.acquire().await?;
        let result = {
            let running = pin!(work(guard.leadership().clone()));
            let overdue = pin!(guard.leadership().overdue());
            match select(running, overdue).await {
                Either::Left((result, _)) => Ok(result),
                Either::Right(_) => Err(guard.loss()),
            }
        };
        let kept = guard.release().await;
        result.and_then(|result| kept.map(|()| result))
    }
}
