//! A lock that is held.

use tenure_core::{ElectionName, LossReason, Term};

use crate::candidacy::Candidacy;
use crate::error::Error;
use crate::leadership::{Leadership, Work};

/// A lock that is held. Dropping it releases the lock in the background; [`release`](Self::release) waits for that.
///
/// A lock can be lost: its holder was paused for too long, the store could not be reached, or somebody asked for it with
/// `tenure resign`. Then [`lost`](Self::lost) completes while there is still the grace to stop, and nobody else has the
/// lock before the lease has run out or this guard is dropped.
#[must_use = "the lock is released when its guard is dropped"]
#[derive(Debug)]
pub struct LockGuard {
    // Dropped in this order: a candidate that leaves does not campaign again when its work has ended.
    election: Candidacy,
    work: Work,
}

impl LockGuard {
    pub(super) fn new(election: Candidacy, work: Work) -> Self {
        Self { election, work }
    }

    /// The name of the lock.
    #[must_use]
    pub fn name(&self) -> &ElectionName {
        self.election.name()
    }

    /// What holding the lock means until when; to be handed to whatever works under it.
    #[must_use]
    pub fn leadership(&self) -> &Leadership {
        self.work.leadership()
    }

    /// The term: the fencing token to give to whatever checks it. It is above that of every earlier holder.
    #[must_use]
    pub fn term(&self) -> Term {
        self.leadership().term()
    }

    /// Whether more may be begun under the lock, this very moment. The clock is asked on every call.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.leadership().is_cancelled()
    }

    /// Completes when the lock is lost and work under it has to stop. Cancel safe.
    pub async fn lost(&self) {
        self.leadership().cancelled().await;
    }

    /// Waits on this thread until the lock is lost.
    pub fn wait_lost(&self) {
        self.leadership().wait_cancelled();
    }

    /// Releases the lock, and returns when it is released or left to lapse.
    ///
    /// Returns within a bounded time, whatever the store does. Dropping the future does not take it back.
    ///
    /// # Errors
    /// [`Error::LockLost`] when the lock was lost before, for so long that what was done last may not have been protected.
    pub async fn release(self) -> Result<(), Error> {
        let Self { election, work } = self;
        let kept = if work.leadership().is_valid() { Ok(()) } else { Err(loss(&election, work.leadership())) };
        election.request_stop();
        drop(work);
        election.stop().await;
        kept
    }

    /// What to tell whoever was interrupted.
    pub(super) fn loss(&self) -> Error {
        loss(&self.election, self.leadership())
    }
}

/// Nobody says why when the clock is the first to know; then it was not renewed in time.
fn loss(election: &Candidacy, leadership: &Leadership) -> Error {
    let reason = leadership.loss().unwrap_or(LossReason::Expired);
    Error::LockLost { name: election.name().clone(), term: leadership.term(), reason }
}
