//! The phase of a candidacy, and waiting for it to change.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::Term;
use tokio::sync::Notify;

use crate::contain::shielded;
use crate::shared::Grant;

/// The phase of a candidacy.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    Standing,
    Leading(Arc<Grant>),
    /// Lost: work is stopping, or the lease is being released.
    Leaving {
        term: Term,
        /// The work has had its time.
        killed: bool,
        /// The lease has run out under work that still runs.
        lapsed: bool,
    },
    Stopped,
}

/// Holds the phase. A channel of the runtime would do the same at ten times the size, and a process may stand in ten
/// thousand elections.
pub(crate) struct PhaseCell {
    phase: Mutex<Phase>,
    changed: Notify,
}

impl PhaseCell {
    pub(crate) fn new(phase: Phase) -> Self {
        Self { phase: Mutex::new(phase), changed: Notify::new() }
    }

    pub(crate) fn set(&self, phase: Phase) {
        let before = std::mem::replace(&mut *self.phase.lock().unwrap_or_else(PoisonError::into_inner), phase);
        if let Phase::Leading(grant) = before {
            grant.cancel();
        }
        self.notify();
    }

    /// Lets all who wait look again.
    pub(crate) fn notify(&self) {
        self.changed.notify_waiters();
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Phase) -> T) -> T {
        read(&self.phase.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until `read` finds what it looks for. Cancel safe.
    pub(crate) async fn wait_for<T>(&self, mut read: impl FnMut(&Phase) -> Option<T>) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Listening begins before looking, so that no change falls between the two.
            changed.as_mut().enable();
            if let Some(found) = self.read(&mut read) {
                return found;
            }
            shielded(changed).await;
        }
    }

    /// Waits until the phase is such. Cancel safe.
    pub(crate) async fn wait_until(&self, mut is_such: impl FnMut(&Phase) -> bool) {
        self.wait_for(|phase| is_such(phase).then_some(())).await;
    }
}

impl fmt::Debug for PhaseCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read(|phase| phase.fmt(f))
    }
}
