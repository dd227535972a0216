//! Leadership as a value.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Input, Instant, LossReason, Term};
use tokio_util::sync::CancellationToken;

use crate::block_on::{block_on, block_on_for};
use crate::driver::DriverCommand;
use crate::phase::Phase;
use crate::shared::{Grant, Shared};

/// One term of leadership, to work under.
///
/// Only an election makes it, so it proves that this candidate did lead; every call asks the clock whether it still does.
///
/// Clones are of the same term, and equal. Keeping or dropping one has no effect; a resignation waits for [`Work`] only.
#[derive(Clone)]
pub struct Leadership {
    shared: Arc<Shared>,
    grant: Arc<Grant>,
}

impl Leadership {
    pub(crate) fn new(shared: Arc<Shared>, grant: Arc<Grant>) -> Self {
        Self { shared, grant }
    }

    /// Returns the term: the fencing token for resources that check it.
    #[must_use]
    pub fn term(&self) -> Term {
        self.grant.term
    }

    /// Returns a fence for a transaction in the election's PostgreSQL database, which fails unless this term is still the newest.
    ///
    /// Election, namespace and term are filled in, and the schema that the store was opened with.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub fn postgres_fence(&self) -> crate::fencing::PostgresFence {
        let key = &self.shared.key;
        let fence =
            crate::fencing::PostgresFence::new(key.name.as_str(), self.term()).in_namespace(key.namespace.as_str());
        // A store cannot have opened a schema of an impossible name.
        let in_schema = self.shared.schema.as_deref().and_then(|schema| fence.clone().in_schema(schema).ok());
        in_schema.unwrap_or(fence)
    }

    /// Returns a fence around a key in Redis with this term; writes through it fail once a higher term has been there.
    ///
    /// The key is one of the application's own, in whichever Redis; the names of the election's keys do not matter to it.
    #[cfg(feature = "redis")]
    #[must_use]
    pub fn redis_fence(&self, key: impl Into<String>) -> crate::fencing::RedisFence {
        crate::fencing::RedisFence::around(key, self.term())
    }

    /// Returns whether this term may be acted under at this instant.
    ///
    /// True a little longer than [`Candidacy::is_leader`](crate::Candidacy::is_leader), which is false as soon as work
    /// has to stop: work that has begun may be finished under a term that is still valid.
    #[inline]
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let until = self.grant.trusted_until();
        self.shared.clock.now() < until && self.shared.is_same_process()
    }

    /// Returns how long this term may still be acted under unless renewed; zero when it may not.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        if !self.shared.is_same_process() {
            return Duration::ZERO;
        }
        self.trusted_until().saturating_since(self.shared.clock.now())
    }

    /// Returns the instant until which this term may be acted under unless renewed, on this machine's clock.
    #[must_use]
    pub fn trusted_until(&self) -> Instant {
        self.grant.trusted_until()
    }

    /// Returns whether work under this term has to stop. Every call asks the clock.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        !self.shared.is_leader() || !self.shared.phase().read(|phase| self.leads(phase))
    }

    /// Waits until work under this term has to stop. Cancel safe.
    pub async fn cancelled(&self) {
        if self.shared.is_same_process() {
            self.shared.phase().wait_until(|phase| !self.leads(phase)).await;
        }
    }

    /// Returns a token that is cancelled when work under this term has to stop, for services, task trackers and servers.
    ///
    /// Cancelling it by hand affects no other token and does not end the leadership.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
    /// let client = tenure::Client::open("memory:")?;
    /// let candidacy = client.election("nightly-report")?.candidate().start()?;
    /// let token = candidacy.elected().await?.cancellation_token();
    /// assert!(!token.is_cancelled());
    /// candidacy.resign().await?;
    /// token.cancelled().await;
    /// # candidacy.stop().await;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn cancellation_token(&self) -> CancellationToken {
        // A forked child may lock nothing, and never leads.
        if !self.shared.is_same_process() {
            let token = CancellationToken::new();
            token.cancel();
            return token;
        }
        let token = self.grant.token();
        // Looked at after it was made: whoever ends the term looks in the opposite order.
        if !self.shared.phase().read(|phase| self.leads(phase)) {
            token.cancel();
        }
        token.child_token()
    }

    /// Waits until the grace is over, and work that still runs under this term must be ended by force. Cancel safe.
    pub async fn overdue(&self) {
        if self.shared.is_same_process() {
            self.shared.phase().wait_until(|phase| self.is_over(phase)).await;
        }
    }

    /// Whether the work has had its time by then.
    pub(crate) fn is_over(&self, phase: &Phase) -> bool {
        match phase {
            Phase::Leading(grant) => grant.term != self.term(),
            Phase::Leaving { term, killed, .. } => *killed || *term != self.term(),
            Phase::Standing | Phase::Stopped => true,
        }
    }

    /// Returns why this term ended; `None` while it leads, and when the reason is not known.
    #[must_use]
    pub fn loss(&self) -> Option<LossReason> {
        self.grant.loss()
    }

    /// Blocks this thread until work under this term has to stop.
    pub fn wait_cancelled(&self) {
        block_on(self.cancelled());
    }

    /// Blocks this thread for at most `limit`, and returns whether work under this term has to stop.
    #[must_use]
    pub fn wait_cancelled_for(&self, limit: Duration) -> bool {
        block_on_for(self.cancelled(), limit).is_some()
    }

    /// Begins work under this term; `None` when the term no longer allows it.
    ///
    /// While [`Work`] is held, the lease is not released. Drop it within the grace after [`cancelled`](Self::cancelled), or the
    /// lease is left to lapse: [how long a resignation waits](crate::Candidacy#how-long-stopping-takes).
    #[must_use = "work that is dropped at once has ended"]
    pub fn begin_work(&self) -> Option<Work> {
        // An earlier term is closed for good before a later one begins, so the clock of the latter cannot revive it.
        if self.shared.is_leader() { self.hold() } else { None }
    }

    /// Keeps the lease from being released, whether or not new work may begin; `None` when it may be released already.
    pub(crate) fn hold(&self) -> Option<Work> {
        self.grant.work().begin().then(|| Work { leadership: self.clone() })
    }

    pub(crate) fn nonce(&self) -> Option<tenure_core::Nonce> {
        self.grant.nonce()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Begins to resign this term, and no other.
    pub(crate) fn give_up(&self) {
        let resign = Input::Resign { term: Some(self.term()), successor: None };
        self.shared.send(DriverCommand::Input(self.shared.id, resign));
    }

    fn leads(&self, phase: &Phase) -> bool {
        match phase {
            Phase::Leading(grant) => grant.term == self.term(),
            Phase::Standing | Phase::Leaving { .. } | Phase::Stopped => false,
        }
    }
}

impl PartialEq for Leadership {
    /// Two are equal when they speak of the same term of the same candidacy.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) && self.term() == other.term()
    }
}

impl Eq for Leadership {}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { key, candidate, .. } = &*self.shared;
        f.debug_struct("Leadership")
            .field("election", &key.name)
            .field("candidate", candidate)
            .field("term", &self.term())
            .finish_non_exhaustive()
    }
}

/// Work in progress under a term. Drop it when the work has ended.
///
/// A panic of the work ends the leadership, too: the lease is handed over rather than kept by a process that does nothing
/// under it.
#[derive(Debug)]
pub struct Work {
    leadership: Leadership,
}

impl Work {
    /// Returns the leadership that the work runs under.
    #[must_use]
    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let Leadership { shared, grant } = &self.leadership;
        if std::thread::panicking() {
            self.leadership.give_up();
        }
        if grant.work().end() {
            shared.send(DriverCommand::Input(shared.id, Input::WorkEnded { term: grant.term }));
        }
    }
}
