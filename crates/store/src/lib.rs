//! The contract between `tenure` and the stores in which elections are held, and what stores share.
//!
//! Implement [`Store`] and run the conformance suite (`tenure-conformance`) on it; nothing else is needed to make every
//! feature of `tenure` work on a new backend. [`MemoryStore`] is the reference. All that requests and answers are made of is
//! here, and [`record`] has the rules by which elections are decided, for stores that can run them themselves.
//!
//! Applications depend on the crate `tenure`, which has all of this as `tenure::store`.
//!
//! # Features
//! | feature | what it adds |
//! |---|---|
//! | `remote` | `remote`: what stores behind a network share |
//! | `tls` | `remote::cryptography`: what encryption needs before it can begin |
//! | `testing` | `testing`: a clock to move by hand, and a store whose replies go astray |

#[macro_use]
mod log;

pub mod clock;
#[doc(hidden)]
pub mod contain;
mod error;
mod hint;
pub mod ledger;
pub mod mailbox;
pub mod memory;
pub mod outcome;
pub mod pubsub;
#[cfg(feature = "remote")]
pub mod remote;
pub mod subscribers;
#[cfg(feature = "testing")]
pub mod testing;
mod url;

use std::fmt;
use std::os::fd::OwnedFd;
use std::time::Duration;

use futures_util::future::{BoxFuture, ready};
use futures_util::stream::BoxStream;
pub use tenure_core::record::{self, Forgetting, RESERVATION, Use, WOKEN_BY_RESIGNATION};
pub use tenure_core::{Campaign, Change, ElectionKey, Lease, Observation, Renew, Resign, StandBy, Transition};
pub use tenure_core::{
    CampaignReply, CandidateId, ChannelName, ElectionName, Handover, Held, Instant, JobName, Leader, LossReason,
    Metadata, Namespace, Nonce, Priority, RenewReply, Sender, Term, WriteOutcome,
};

pub use self::clock::Clock;
pub use self::error::{StoreError, StoreErrorKind, with_causes};
pub use self::hint::{Hint, Interest};
pub use self::ledger::JobLedger;
pub use self::mailbox::{
    Ack, AckReply, Mailbox, MailboxPromises, Message, MessageCount, MessageId, MessageState, NewMessage, OrderingKey,
    Receive, Received,
};
pub use self::memory::MemoryStore;
pub use self::pubsub::{Broadcast, PubSub, PubSubEvent, PubSubPromises};
pub use self::url::StoreUrl;

/// One answer per request of a batch, in the same order.
pub type Replies<T> = Vec<Result<T, StoreError>>;

/// A place where leases are kept.
///
/// # Contract
/// - Each operation on each election of a batch is **one atomic step**, decided by the store's own clock. A batch is
///   one round trip; its steps are independent of each other and may be interleaved with those of others.
/// - **`campaign`** grants a lease that is free, expired, or already owned by the very same nonce (that is how a
///   candidate finds a grant whose reply was lost); a new grant gets a term above every earlier one. While a lease is
///   reserved, only the successor is granted it. Otherwise the candidate is recorded as standing by for
///   [`Campaign::stand_by_for`] (if that is zero, not at all), and told who leads and for how long.
/// - **`renew`** prolongs the lease only if nonce *and* term match and it has not expired.
/// - **`resign`** releases the lease only if nonce and term match, and ends standing by. Releasing what is not held is
///   no error. In the same step the lease is reserved for the named successor, or else for the stand-by of the highest priority that
///   has waited longest, for [`RESERVATION`]. A successor that leaves passes the reservation on in the same way.
/// - Whoever makes a reservation **wakes** the first [`WOKEN_BY_RESIGNATION`] in line: the successor at once, the next one
///   when the reservation ends, each other one a sixteenth of it later. Those that are known to be gone are passed over.
/// - A store **never resigns by itself**. A grant that it cannot vouch for (too few copies have it, say) is answered by
///   [`StoreError::unusable`]; the candidate resigns it, and draws another nonce. A nonce is never used again after a
///   resignation was sent for it: that may arrive late, and would end whatever the nonce was granted meanwhile.
/// - The **holder's** ttl rules, not the challenger's.
/// - Terms never fall, whatever happens to the lease, and not by **`forget`** either: what is removed of an election
///   leaves behind how high its terms were, if only as one number for the whole namespace. **`raise_terms`** makes them
///   go on above those of another store.
/// - An **error** says what became of the write. When in doubt it is [`WriteOutcome::Unknown`].
/// - A **hint** is never the truth. It may be lost, late or duplicated without harm.
/// - Futures may be dropped at any time; the write may or may not have happened then.
/// - All methods are called on a tokio runtime with I/O and time enabled, and must not block its thread.
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// What this store can promise and what not.
    fn capabilities(&self) -> Capabilities;

    /// Takes each lease if it is free; else stands by.
    fn campaign<'a>(&'a self, batch: &'a [Campaign]) -> BoxFuture<'a, Replies<CampaignReply>>;

    /// Keeps each lease.
    fn renew<'a>(&'a self, batch: &'a [Renew]) -> BoxFuture<'a, Replies<RenewReply>>;

    /// Releases each lease.
    fn resign<'a>(&'a self, batch: &'a [Resign]) -> BoxFuture<'a, Replies<()>>;

    /// Looks at each election without taking part. A record that holds what was never written by tenure is an error of its
    /// election alone: [`StoreError::damaged`].
    fn observe<'a>(&'a self, batch: &'a [ElectionKey]) -> BoxFuture<'a, Replies<Observation>>;

    /// The elections that ever had a candidate, in order of their names.
    fn elections<'a>(&'a self, namespace: &'a Namespace) -> BoxFuture<'a, Result<Vec<ElectionName>, StoreError>>;

    /// Leaves a request for the leader to hand over, which its next renewal brings it. Returns whether there is one.
    fn request_handover<'a>(
        &'a self,
        key: &'a ElectionKey,
        successor: Option<&'a CandidateId>,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// The latest transitions, newest first, at most `limit`.
    fn history<'a>(&'a self, key: &'a ElectionKey, limit: usize) -> BoxFuture<'a, Result<Vec<Transition>, StoreError>>;

    /// Removes all that is kept of an election that nobody uses: its history, its jobs, the messages that were set aside.
    /// An election that changed within `idle_for` counts as used. Whatever is still in use is left as it is. A record that is
    /// damaged is removed if `idle_for` is zero, and nobody leads or stands by as far as it can be read; its terms go on
    /// above the highest that it still tells.
    fn forget<'a>(&'a self, key: &'a ElectionKey, idle_for: Duration) -> BoxFuture<'a, Result<Forgetting, StoreError>> {
        let _ = (key, idle_for);
        let message = format!("the {} store keeps nothing that could be forgotten", self.capabilities().name);
        Box::pin(ready(Err(StoreError::refused(StoreErrorKind::Unsupported, message))))
    }

    /// Makes the next term of this election, or of every election of the namespace, greater than `above`: another store has
    /// given terms up to there. Elections that nobody has stood in yet are among them. Terms never fall by it, and a lease that
    /// runs stays as it is. Returns how many elections that are known, or named here, have a higher next term now. A store that
    /// cannot do it changes nothing, and says so.
    fn raise_terms<'a>(
        &'a self,
        namespace: &'a Namespace,
        only: Option<&'a ElectionName>,
        above: Term,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let _ = (namespace, only, above);
        let message = format!("the {} store keeps no terms that could be raised", self.capabilities().name);
        Box::pin(ready(Err(StoreError::refused(StoreErrorKind::Unsupported, message))))
    }

    /// Hints that something changed. The stream ends never; errors of the connection behind it are healed silently.
    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint>;

    /// A descriptor to be held open by whatever process does the leader's work. Where the store can see processes die,
    /// it does not give a lease away before every holder of its life line is gone.
    fn life_line(&self) -> Option<OwnedFd> {
        None
    }

    /// Where messages to leaders wait; `None` where the store has no such place.
    fn mailbox(&self) -> Option<&dyn Mailbox> {
        None
    }

    /// Where jobs and their ticks are written down; `None` where the store has no such place.
    fn ledger(&self) -> Option<&dyn JobLedger> {
        None
    }

    /// How all candidates of an election are told something; `None` where the store cannot do that.
    fn pubsub(&self) -> Option<&dyn PubSub> {
        None
    }

    /// Checks the store for `tenure doctor`: connects, reads, writes.
    fn examine(&self) -> BoxFuture<'_, Vec<Finding>>;
}

/// What a store can promise.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The kind of store, such as `sqlite`.
    pub name: &'static str,
    /// In one plain sentence, what it can and cannot promise.
    pub statement: &'static str,
    /// Whether followers are told of a resignation, instead of finding out when the lease would have run out.
    pub pushes: bool,
    /// Whether the death of the leader's process is noticed before its lease runs out.
    pub sees_death: bool,
    /// The shortest ttl it can keep.
    pub min_ttl: Duration,
    /// What the [contract](Store#contract) asks for, and this store cannot do. Empty for most.
    pub lacks: &'static [Feature],
}

impl Capabilities {
    /// Those of a store that keeps the whole contract and leases of a millisecond, and of whose changes nobody is told.
    #[must_use]
    pub const fn new(name: &'static str, statement: &'static str) -> Self {
        let min_ttl = Duration::from_millis(1);
        Self { name, statement, pushes: false, sees_death: false, min_ttl, lacks: &[] }
    }

    /// With [`pushes`](Self::pushes) set to this.
    #[must_use]
    pub const fn with_pushes(self, pushes: bool) -> Self {
        Self { pushes, ..self }
    }

    /// With [`sees_death`](Self::sees_death) set to this.
    #[must_use]
    pub const fn with_sees_death(self, sees_death: bool) -> Self {
        Self { sees_death, ..self }
    }

    /// With [`min_ttl`](Self::min_ttl) set to this.
    #[must_use]
    pub const fn with_ttl_min(self, min_ttl: Duration) -> Self {
        Self { min_ttl, ..self }
    }

    /// With [`lacks`](Self::lacks) set to this.
    #[must_use]
    pub const fn with_lacks(self, lacks: &'static [Feature]) -> Self {
        Self { lacks, ..self }
    }
}

/// A part of the [contract](Store#contract) that not every store can keep. No promise about leadership depends on any of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// Others are told how long a lease still runs. Without it, [`Held::remaining`] is how
    /// long the store wants to be left in peace, and [`Lease::remaining`] and [`Lease::ttl`] are zero.
    Deadlines,
    /// Others are told the exact id of each candidate. Without it, they are told one id for all candidates of a handle.
    Labels,
    /// Others are told what a leader has published about itself.
    Metadata,
    /// It is known who stands by, and a lease that is resigned is reserved for one of them.
    StandBys,
    /// Elections are listed, and their last terms are known, when nobody leads in them.
    Records,
    /// Transitions are written down.
    History,
    /// A grant is found again by its nonce through another handle. Without it, it ends with its handle.
    Handles,
}

/// One result of [`Store::examine`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, such as `writable`.
    pub check: &'static str,
    /// Whether it is as it should be.
    pub severity: Severity,
    /// What was found, and what to do about it.
    pub detail: String,
}

/// How bad a [`Finding`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Good,
    /// Works, but somebody should look at it.
    Warning,
    /// Elections cannot be held like this.
    Bad,
}

impl Finding {
    /// A finding that is as it should be.
    pub fn good(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, severity: Severity::Good, detail: detail.into() }
    }

    /// A finding that somebody should look at.
    pub fn warning(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, severity: Severity::Warning, detail: detail.into() }
    }

    /// A finding that makes elections impossible.
    pub fn bad(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, severity: Severity::Bad, detail: detail.into() }
    }
}
