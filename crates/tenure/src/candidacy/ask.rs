//! Requests to stand: a candidacy whose work has ended must not lead with nobody working.

use std::sync::{Arc, Mutex, PoisonError};

use crate::driver::DriverCommand;
use crate::shared::Shared;

/// Whether a candidacy stands, and for whom. It stands from its start on, and pauses when work that it was to run has ended
/// and nobody else waits to lead by it.
#[derive(Debug, Default)]
pub(crate) struct Asks(Mutex<AskCount>);

#[derive(Debug, Default)]
struct AskCount {
    /// Work that is run while leading, and all who wait to lead.
    pending: usize,
    /// Work has ended, and nobody has led since.
    has_ended: bool,
    is_paused: bool,
}

impl Asks {
    pub(crate) fn is_paused(&self) -> bool {
        self.with(|asks| asks.is_paused)
    }

    fn with<T>(&self, change: impl FnOnce(&mut AskCount) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Asks the candidacy to stand until this is dropped.
pub(super) struct Ask<'a> {
    shared: &'a Arc<Shared>,
    /// Its end is the end of the work.
    is_work: bool,
}

impl<'a> Ask<'a> {
    /// To wait until it leads; what is done then is the caller's.
    pub(super) fn to_wait(shared: &'a Arc<Shared>) -> Self {
        Self::new(shared, false)
    }

    /// To run work while it leads.
    pub(super) fn to_work(shared: &'a Arc<Shared>) -> Self {
        Self::new(shared, true)
    }

    fn new(shared: &'a Arc<Shared>, is_work: bool) -> Self {
        // A forked child may lock nothing.
        if shared.is_same_process() {
            shared.asks().with(|asks| {
                asks.pending += 1;
                if std::mem::take(&mut asks.is_paused) {
                    asks.has_ended = false;
                    // Said under the lock, so that the driver hears it in the order in which it was decided.
                    shared.send(DriverCommand::Resume(shared.id));
                }
            });
        }
        Self { shared, is_work }
    }

    /// It leads, for the caller from here on.
    pub(super) fn fulfilled(self) {
        self.shared.asks().with(|asks| asks.has_ended = false);
    }
}

impl Drop for Ask<'_> {
    fn drop(&mut self) {
        if !self.shared.is_same_process() {
            return;
        }
        self.shared.asks().with(|asks| {
            asks.pending = asks.pending.saturating_sub(1);
            asks.has_ended |= self.is_work;
            if asks.pending == 0 && asks.has_ended {
                asks.is_paused = true;
                self.shared.send(DriverCommand::Pause(self.shared.id));
            }
        });
    }
}
