//! Locks: elections whose leader leaves when its work is done.
//!
//! The store knows no locks, only elections: waiting for a lock is standing in the election of its name, and holding it is
//! leading there. So every promise about leaders holds for lock holders.

mod attempt;
mod guard;
mod wait;
mod work;

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tenure_core::{CandidateId, ElectionName, Preset, Priority, Timing};

use self::attempt::LockAttempt;
pub use self::guard::LockGuard;
pub use self::wait::LockWait;
use crate::candidacy::CandidacyBuilder;
use crate::client::Client;
use crate::error::Error;

/// A lock with one holder at a time among all processes that share the store. Made by [`Client::lock`].
///
/// This value only describes the lock: it costs nothing, and may be acquired any number of times. Each acquisition has a term
/// above all earlier ones, which is the fencing token. Waiters are served in order of arrival where the store supports
/// that (PostgreSQL's advisory locks do not).
///
/// **It is not re-entrant.** A holder that acquires it again waits for itself.
///
/// The name is that of an election: `tenure status`, `history`, `watch` and `resign` work on it. Do not use a name for
/// both a lock and an election, and do not make up names as you go (one for each order, say): stores keep the record of
/// a name for ever, because terms must never fall; [`Election::forget`](crate::Election::forget) removes one that is not used any
/// more.
///
/// ```
/// use std::time::Duration;
/// use tenure::blocking::Client;
///
/// let client = Client::open("memory:")?;
/// let lock = client.lock("migrate")?.max_wait(Duration::from_secs(10));
/// let guard = lock.acquire()?;
/// println!("migrating under term {}", guard.term());
/// assert!(lock.try_acquire()?.is_none(), "one holder at a time");
/// guard.release()?;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a lock is not held before it is acquired"]
pub struct Lock {
    client: Client,
    candidacy: CandidacyBuilder,
    max_wait: Option<Duration>,
}

impl Lock {
    pub(crate) fn new(client: Client, candidacy: CandidacyBuilder) -> Self {
        Self { client, candidacy: candidacy.as_lock(), max_wait: None }
    }

    /// Sets how long [`acquire`](Self::acquire) and [`with_lock`](Self::with_lock) wait at most. Default: no limit.
    pub fn max_wait(mut self, limit: Duration) -> Self {
        self.max_wait = Some(limit);
        self
    }

    /// Sets all durations. Default: [`Preset::Normal`].
    pub fn timing(mut self, timing: Timing) -> Self {
        self.candidacy = self.candidacy.timing(timing);
        self
    }

    /// Sets all durations by the name of a preset.
    pub fn preset(self, preset: Preset) -> Self {
        self.timing(preset.timing())
    }

    /// Sets how long the store keeps a lease that is not renewed; all other durations are [derived](Timing::from_ttl) from it.
    ///
    /// The lock of a crashed holder is free after it at the latest. Acquiring fails when it is outside of
    /// [`Timing::MIN_TTL`] to [`Timing::MAX_TTL`].
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.candidacy = self.candidacy.ttl(ttl);
        self
    }

    /// Sets the holder's id. Default: host name, process id and a random suffix, another one each time.
    ///
    /// Acquiring fails when it breaks the rule for names.
    pub fn id(mut self, id: impl TryInto<CandidateId, Error: Into<Error>>) -> Self {
        self.candidacy = self.candidacy.id(id);
        self
    }

    /// Sets the priority, 0-10; higher ones are served first. Default: the highest.
    ///
    /// Acquiring fails when it is out of range.
    pub fn priority(mut self, priority: impl TryInto<Priority, Error: Into<Error>>) -> Self {
        self.candidacy = self.candidacy.priority(priority);
        self
    }

    /// Publishes a key and a value about the holder, for all to read while it holds the lock.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.candidacy = self.candidacy.metadata(key, value);
        self
    }

    /// Returns the name of the lock, which is that of its election.
    #[must_use]
    pub fn name(&self) -> &ElectionName {
        self.candidacy.name()
    }

    /// Waits until the lock is acquired. A waiter costs the store no more than a stand-by.
    ///
    /// Without a [limit](Self::max_wait) it waits for as long as it takes, even through outages of the store. Dropping the
    /// future leaves the line at once, in the background.
    ///
    /// # Errors
    /// [`Error::LockBusy`] after the limit, or [`Error::Store`] if the store could not be reached until then; when
    /// the candidacy cannot start, as in [`CandidacyBuilder::start`].
    pub async fn acquire(&self) -> Result<LockGuard, Error> {
        let mut attempt = LockAttempt::begin(self.candidacy.clone(), LockWait::new())?;
        let Some(limit) = self.max_wait else { return attempt.held().await };
        match self.within(limit, attempt.held()).await {
            Some(held) => held,
            None => Err(attempt.gives_up(limit)),
        }
    }

    /// Acquires the lock if it is free; `None` otherwise.
    ///
    /// It asks once and never waits for a holder; a store that does not answer is given up
    /// after two attempt timeouts. A lock that was just released, and is reserved for the next in line, is not free.
    ///
    /// Dropping the future leaves the line at once, in the background.
    ///
    /// # Errors
    /// When the store fails or does not answer; when the candidacy cannot start, as in [`CandidacyBuilder::start`].
    pub async fn try_acquire(&self) -> Result<Option<LockGuard>, Error> {
        let limit = self.candidacy.first_answer_within()?;
        let candidacy = self.candidacy.clone().without_standing_by();
        let mut attempt = LockAttempt::begin(candidacy, LockWait::new().asking_once())?;
        match self.within(limit, attempt.held()).await {
            Some(Ok(guard)) => Ok(Some(guard)),
            Some(Err(Error::LockBusy { .. })) => Ok(None),
            Some(Err(error)) => Err(error),
            None => Err(attempt.gives_up(limit)),
        }
    }

    /// Polls the future first, so that what came at the last moment counts.
    async fn within<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        match select(pin!(future), pin!(self.client.sleep(limit))).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("name", self.name()).field("max_wait", &self.max_wait).finish_non_exhaustive()
    }
}
