//! One attempt to acquire a lock, from the first campaign until the lock is held or given up.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tenure_core::{Anomaly, CandidateId};

use super::LockGuard;
use crate::candidacy::{Candidacy, CandidacyBuilder};
use crate::error::Error;
use crate::event::{ElectionError, EventKind, Events};
use crate::leadership::Work;
use crate::store::{StoreError, StoreErrorKind};

/// Stands in the election of the lock. Dropping it leaves the line in the background.
pub(super) struct LockAttempt {
    /// None once the lock is held.
    candidacy: Option<Candidacy>,
    events: Events,
    heard: LastReply,
}

/// The store's last answer.
enum LastReply {
    Nothing,
    /// The lock is held by, or reserved for, another candidate.
    Taken(Option<CandidateId>),
    Failed(StoreError),
}

impl LockAttempt {
    pub(super) fn begin(candidacy: CandidacyBuilder) -> Result<Self, Error> {
        let (candidacy, events) = candidacy.start_with_events()?;
        Ok(Self { candidacy: Some(candidacy), events, heard: LastReply::Nothing })
    }

    /// Waits until the lock is held, whatever the store says meanwhile. Cancel safe.
    pub(super) async fn held(&mut self) -> Result<LockGuard, Error> {
        loop {
            if let Some(guard) = self.listen().await? {
                return Ok(guard);
            }
        }
    }

    /// Waits for the first answer, and decides by it. Cancel safe.
    pub(super) async fn answered(&mut self) -> Result<Option<LockGuard>, Error> {
        loop {
            if let Some(guard) = self.listen().await? {
                return Ok(Some(guard));
            }
            match &self.heard {
                LastReply::Nothing => {}
                LastReply::Taken(_) => return Ok(None),
                LastReply::Failed(error) => return Err(error.clone().into()),
            }
        }
    }

    /// Leaves the line, and returns the error for the time waited.
    pub(super) fn gives_up(self, waited: Duration) -> Error {
        match (self.heard, self.candidacy) {
            (LastReply::Taken(holder), Some(candidacy)) => {
                Error::LockBusy { name: candidacy.name().clone(), holder, waited }
            }
            (LastReply::Failed(error), _) => error.into(),
            (LastReply::Nothing | LastReply::Taken(_), _) => Error::silence(waited),
        }
    }

    /// Takes in what happens next; the guard, if the lock is held. Whether it is, the state says: events are lost when nobody
    /// reads them for long.
    async fn listen(&mut self) -> Result<Option<LockGuard>, Error> {
        let Some(candidacy) = &self.candidacy else { return Err(Error::Stopped) };
        let next = match select(pin!(candidacy.elected()), pin!(self.events.next())).await {
            Either::Left((elected, _)) => elected.map(|_| None)?,
            Either::Right((event, _)) => Some(event.ok_or(Error::Stopped)?),
        };
        let Some(event) = next else { return Ok(self.take()) };
        match event.kind {
            EventKind::Observed { leader } => self.heard = LastReply::Taken(leader.map(|leader| leader.candidate)),
            EventKind::Error { error: ElectionError::Store(error) } => self.heard = LastReply::Failed(error),
            EventKind::Error { error: ElectionError::Anomaly(anomaly @ Anomaly::Regressed { .. }) } => {
                let error = StoreError::refused(StoreErrorKind::Replaced, anomaly.to_string());
                self.heard = LastReply::Failed(error);
            }
            EventKind::Stopped => return Err(Error::Stopped),
            _ => {}
        }
        Ok(None)
    }

    /// The lock may have been lost since; then this candidate stands again, and there is more to listen to.
    fn take(&mut self) -> Option<LockGuard> {
        let work: Work = self.candidacy.as_ref()?.leadership()?.begin_work()?;
        Some(LockGuard::new(self.candidacy.take()?, work))
    }
}
