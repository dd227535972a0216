//! Leadership as a value.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Input, Instant, LossReason, Term};

use crate::blocking::{block_on, block_on_for};
use crate::driver::DriverCommand;
use crate::phase::Phase;
use crate::shared::{Grant, Shared};

/// One term of leadership. Only an election makes it, so whoever holds one did lead; whether it still does, the clock
/// says on every call.
///
/// Clones speak of the same term. Keeping or dropping one changes nothing; it is [`Work`] that is waited for.
#[derive(Debug, Clone)]
pub struct Leadership {
    shared: Arc<Shared>,
    grant: Arc<Grant>,
}

impl Leadership {
    pub(crate) fn new(shared: Arc<Shared>, grant: Arc<Grant>) -> Self {
        Self { shared, grant }
    }

    /// The term: the fencing token to give to whatever checks it.
    #[must_use]
    pub fn term(&self) -> Term {
        self.grant.term
    }

    /// A fence for a transaction in the PostgreSQL database of the election: it fails unless this term is still the newest.
    ///
    /// Election, namespace and term are filled in. Elections in another schema than `tenure` need
    /// [`in_schema`](crate::fencing::PostgresFence::in_schema).
    #[cfg(feature = "postgres")]
    #[must_use]
    pub fn postgres_fence(&self) -> crate::fencing::PostgresFence {
        let key = &self.shared.key;
        crate::fencing::PostgresFence::new(key.name.as_str(), self.term()).in_namespace(key.namespace.as_str())
    }

    /// A fence around a key in Redis, with this term filled in: what is written through it fails once a higher term was here.
    #[cfg(feature = "redis")]
    #[must_use]
    pub fn redis_fence(&self, key: impl Into<String>) -> crate::fencing::RedisFence {
        crate::fencing::RedisFence::around(key, self.term())
    }

    /// Whether this term may still be acted under, this very moment.
    ///
    /// True a little longer than [`Candidacy::is_leader`](crate::Candidacy::is_leader), which is false as soon as work
    /// has to stop: what has begun may be finished under a term that is still valid.
    #[inline]
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let until = self.grant.trusted_until();
        self.shared.clock.now() < until && self.shared.is_same_process()
    }

    /// How long it may still be acted under unless renewed; zero when it may not.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        if !self.shared.is_same_process() {
            return Duration::ZERO;
        }
        self.trusted_until().saturating_since(self.shared.clock.now())
    }

    /// Until when it may be acted under unless renewed, on the clock of this machine.
    #[must_use]
    pub fn trusted_until(&self) -> Instant {
        self.grant.trusted_until()
    }

    /// Whether work under this term has to stop, or has stopped. The clock is asked on every call.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        !self.shared.is_leader() || !self.shared.phase().read(|phase| self.leads(phase))
    }

    /// Completes when work under this term has to stop. Cancel safe.
    pub async fn cancelled(&self) {
        if self.shared.is_same_process() {
            self.shared.phase().wait_until(|phase| !self.leads(phase)).await;
        }
    }

    /// Completes when the work has had its time: whatever still runs under this term must be ended by force. Cancel
    /// safe.
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

    /// Why this term ended; `None` while it leads, and where nobody is left to tell.
    #[must_use]
    pub fn loss(&self) -> Option<LossReason> {
        self.grant.loss()
    }

    /// Waits on this thread until work under this term has to stop.
    pub fn wait_cancelled(&self) {
        block_on(self.cancelled());
    }

    /// Waits on this thread for at most `limit`. Returns whether work under this term has to stop.
    #[must_use]
    pub fn wait_cancelled_for(&self, limit: Duration) -> bool {
        block_on_for(self.cancelled(), limit).is_some()
    }

    /// Begins work under this term; `None` when it is too late for that.
    ///
    /// While [`Work`] is held, a resignation waits for it before the lease is released, for at most the grace.
    #[must_use = "work that is dropped at once has ended"]
    pub fn begin_work(&self) -> Option<Work> {
        // An earlier term is closed for good before a later one begins, so the clock of the latter cannot revive it.
        if self.shared.is_leader() { self.hold() } else { None }
    }

    /// Keeps the lease from being released, whether or not new work may begin; `None` when it may be released already.
    pub(crate) fn hold(&self) -> Option<Work> {
        self.grant.work().begin().then(|| Work { leadership: self.clone() })
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

/// Work in progress under a term. Drop it when the work has ended.
///
/// Work that ends in a panic ends the leadership with it: the lease is handed over rather than kept by a process that
/// does nothing under it.
#[derive(Debug)]
pub struct Work {
    leadership: Leadership,
}

impl Work {
    /// The leadership it runs under.
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
