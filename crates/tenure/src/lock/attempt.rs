//! One attempt to acquire a lock, from the first campaign until the lock is held or given up.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tenure_core::ElectionName;

use super::{LockGuard, LockWait};
use crate::candidacy::{Candidacy, CandidacyBuilder};
use crate::error::Error;
use crate::event::{EventKind, Events};
use crate::leadership::Work;

/// Stands in the election of the lock. Dropping it leaves the line in the background.
pub(super) struct LockAttempt {
    lock: ElectionName,
    /// None once the lock is held.
    candidacy: Option<Candidacy>,
    events: Events,
    wait: LockWait,
}

impl LockAttempt {
    pub(super) fn begin(candidacy: CandidacyBuilder, wait: LockWait) -> Result<Self, Error> {
        let lock = candidacy.name().clone();
        let (candidacy, events) = candidacy.start_with_events()?;
        Ok(Self { lock, candidacy: Some(candidacy), events, wait })
    }

    /// Waits until the lock is held, or an answer of the store ends the wait. Cancel safe.
    ///
    /// Whether the lock is held, the state says: events are lost when nobody reads them for long.
    pub(super) async fn held(&mut self) -> Result<LockGuard, Error> {
        loop {
            let Some(candidacy) = &self.candidacy else { return Err(Error::Stopped) };
            let event = match select(pin!(candidacy.elected()), pin!(self.events.next())).await {
                Either::Left((elected, _)) => elected.map(|_| None)?,
                Either::Right((event, _)) => Some(event.ok_or(Error::Stopped)?),
            };
            match event.map(|event| event.kind) {
                None => {
                    if let Some(guard) = self.take() {
                        return Ok(guard);
                    }
                }
                Some(EventKind::Stopped) => return Err(Error::Stopped),
                Some(kind) if self.wait.note(&kind) => return Err(self.gives_up(Duration::ZERO)),
                Some(_) => {}
            }
        }
    }

    /// Returns the error for the time waited.
    pub(super) fn gives_up(&self, waited: Duration) -> Error {
        self.wait.error(&self.lock, waited)
    }

    /// The lock may have been lost since; then this candidate stands again, and there is more to listen to.
    fn take(&mut self) -> Option<LockGuard> {
        let work: Work = self.candidacy.as_ref()?.leadership()?.begin_work()?;
        Some(LockGuard::new(self.candidacy.take()?, work))
    }
}
