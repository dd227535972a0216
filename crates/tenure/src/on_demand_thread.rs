//! A thread that exists only while there is something to do.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether somebody is at work.
#[derive(Debug, Default)]
pub(crate) struct OnDemandThread(Mutex<bool>);

impl OnDemandThread {
    pub(crate) fn is_on(&self) -> bool {
        *self.running()
    }

    /// There is something to do. A thread that runs already will find it.
    pub(crate) fn begin(&self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut running = self.running();
        if !*running {
            std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
            *running = true;
        }
        Ok(())
    }

    /// The next thing to do; without one, the thread has to end. Whoever begins a shift has made it ready before: under the
    /// lock it is either found here, or the other finds that nothing runs.
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
