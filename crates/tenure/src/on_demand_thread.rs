//! A thread that exists only while there is something to do.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A thread that runs only while there is work.
#[derive(Debug, Default)]
pub(crate) struct OnDemandThread(Mutex<bool>);

impl OnDemandThread {
    pub(crate) fn is_on(&self) -> bool {
        *self.running()
    }

    /// Starts the thread, unless it runs already and will find the work by itself.
    pub(crate) fn begin(&self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut running = self.running();
        if !*running {
            std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
            *running = true;
        }
        Ok(())
    }

    /// Takes the next piece of work; without one, the thread has to end. Work is made ready before [`begin`](Self::begin): under
    /// the lock either it is found here, or `begin` finds that nothing runs.
    pub(crate) fn next<T>(&self, take: impl FnOnce() -> Option<T>) -> Option<T> {
        let mut running = self.running();
        let next = take();
        *running = next.is_some();
        next
    }

    fn running(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
