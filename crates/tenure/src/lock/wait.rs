//! How a wait for a lock goes on and ends, by the events of the candidacy that waits.

use std::time::Duration;

use tenure_core::{Anomaly, CandidateId, ElectionName};

use crate::error::Error;
use crate::event::{ElectionError, EventKind};
use crate::store::{StoreError, StoreErrorKind};

/// What is known of the wait for a lock, by the events of the candidacy that waits.
///
/// [`Lock`](crate::Lock) does all of this by itself. This is for programs that follow the events of a candidacy
/// [for a lock](crate::CandidacyBuilder::as_lock) anyway, as `tenure lock` does: it [notes](Self::note) each event, and makes the
/// [error](Self::error) for a wait that ends without the lock. It has no clock: how long is waited, the caller decides.
///
/// ```
/// use std::time::Duration;
/// use tenure::{ErrorKind, EventKind, LockWait};
///
/// let mut wait = LockWait::new().asking_once();
/// assert!(wait.note(&EventKind::Observed { leader: None }), "the lock is reserved for another candidate");
/// let error = wait.error(&"migrate".parse()?, Duration::ZERO);
/// assert_eq!(error.kind(), ErrorKind::LockBusy);
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct LockWait {
    asks_once: bool,
    last_reply: LastReply,
}

/// The store's last answer.
#[derive(Debug, Clone, Default)]
enum LastReply {
    #[default]
    Nothing,
    /// The lock is held by, or reserved for, another candidate.
    Taken(Option<CandidateId>),
    Failed(StoreError),
}

impl LockWait {
    /// Creates a wait that goes on whatever the store answers, and about which nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the first answer of the store end the wait. The candidacy should be one that
    /// [never stands by](crate::CandidacyBuilder::without_standing_by).
    #[must_use]
    pub fn asking_once(mut self) -> Self {
        self.asks_once = true;
        self
    }

    /// Returns whether the first answer of the store ends the wait.
    #[must_use]
    pub fn asks_once(&self) -> bool {
        self.asks_once
    }

    /// Notes an event of the candidacy, and returns whether the wait has ended with it, without the lock.
    pub fn note(&mut self, event: &EventKind) -> bool {
        self.last_reply = match event {
            EventKind::Observed { leader } => LastReply::Taken(leader.as_ref().map(|leader| leader.candidate.clone())),
            EventKind::Error { error: ElectionError::Store(error) } => LastReply::Failed(error.clone()),
            EventKind::Error { error: ElectionError::Anomaly(anomaly @ Anomaly::Regressed { .. }) } => {
                LastReply::Failed(StoreError::refused(StoreErrorKind::Replaced, anomaly.to_string()))
            }
            _ => return false,
        };
        self.asks_once
    }

    /// Returns the error for a wait that has ended without the lock after so long: [`Error::LockBusy`] when another candidate has
    /// it, [`Error::Store`] when the store failed last or has not answered.
    #[must_use]
    pub fn error(&self, lock: &ElectionName, waited: Duration) -> Error {
        match &self.last_reply {
            LastReply::Taken(holder) => Error::LockBusy { name: lock.clone(), holder: holder.clone(), waited },
            LastReply::Failed(error) => error.clone().into(),
            LastReply::Nothing => Error::silence(waited),
        }
    }
}
