//! The guard of a held lock.

use tenure_core::{ElectionName, LossReason, Term};

use crate::candidacy::Candidacy;
use crate::error::Error;
use crate::leadership::{Leadership, Work};

/// The guard of a held lock. Dropping it releases the lock in the background; [`release`](Self::release) waits for that.
///
/// A lock can be lost: its holder was paused for too long, the store could not be reached, or `tenure resign` asked for it.
/// Then [`lost`](Self::lost) completes while there is still the grace to stop, and no other candidate gets the lock before
/// the lease has run out or this guard is dropped.
#[must_use = "the lock is released when its guard is dropped"]
#[derive(Debug)]
pub struct LockGuard {
    // Dropped in this order: a candidate that leaves does not campaign again when its work has ended.
    candidacy: Candidacy,
    work: Work,
}

impl LockGuard {
    pub(super) fn new(candidacy: Candidacy, work: Work) -> Self {
        Self { candidacy, work }
    }

    /// Returns the name of the lock.
    #[must_use]
    pub fn name(&self) -> &ElectionName {
        self.candidacy.name()
    }

    /// Returns the leadership behind the lock, to pass on to the work under it.
    #[must_use]
    pub fn leadership(&self) -> &Leadership {
        self.work.leadership()
    }

    /// Returns the term: the fencing token for resources that check it, higher than that of every earlier holder.
    #[must_use]
    pub fn term(&self) -> Term {
        self.leadership().term()
    }

    /// Returns whether the lock is held and work may begin under it at this instant. Every call asks the clock.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.leadership().is_cancelled()
    }

    /// Waits until the lock is lost and work under it has to stop. Cancel safe.
    pub async fn lost(&self) {
        self.leadership().cancelled().await;
    }

    /// Releases the lock, and returns when it is released or left to lapse.
    ///
    /// Returns within a bounded time, whatever the store does. The guard itself holds nothing up here, but
    /// [`Work`](crate::Work) that was begun under its [leadership](Self::leadership) does:
    /// [how long that may take](crate::Candidacy#how-long-stopping-takes). Dropping the future does not cancel the release.
    ///
    /// # Errors
    /// [`Error::LockLost`] when the lock was lost before, for so long that the last steps may not have been protected.
    pub async fn release(self) -> Result<(), Error> {
        let Self { candidacy, work } = self;
        let kept = if work.leadership().is_valid() { Ok(()) } else { Err(loss(&candidacy, work.leadership())) };
        candidacy.request_stop();
        drop(work);
        candidacy.stop().await;
        kept
    }

    /// Returns the error for interrupted work.
    pub(super) fn loss(&self) -> Error {
        loss(&self.candidacy, self.leadership())
    }
}

/// Nobody says why when the clock is the first to know; then it was not renewed in time.
fn loss(candidacy: &Candidacy, leadership: &Leadership) -> Error {
    let reason = leadership.loss().unwrap_or(LossReason::Expired);
    Error::LockLost { name: candidacy.name().clone(), term: leadership.term(), reason }
}
