//! The contract between `tenure` and the stores that hold its elections, and code that stores share.
//!
//! Implement [`Store`] and run the conformance suite (`tenure-conformance`) on it; nothing else is needed to make every
//! feature of `tenure` work on a new backend. [`MemoryStore`] is the reference.
//!
//! This crate re-exports everything that a store needs, so that it depends on no other crate of ours:
//!
//! | for | there is |
//! |---|---|
//! | the methods of the traits | [`async_trait`](macro@async_trait), [`stream`] and [`BoxStream`] |
//! | requests, answers and ids | the root of this crate, [`mailbox`], [`ledger`] and [`pubsub`] |
//! | deciding elections in your own process | [`record::Record`], the rules that every store is held to |
//! | the same for messages and jobs | [`mailbox::MailboxRecord`], [`ledger::Ledger`] |
//! | writing down outcomes and orders | [`ledger::RunOutcome::to_words`], [`ledger::JobOrder::as_str`] |
//! | hints and broadcasts | [`HintChannel`] and [`subscribers`], the fan-out to those who watch and listen |
//! | time and errors | [`Clock`], [`Backoff`], [`StoreError`] |
//!
//! Requests, and the answers that leaders act on, are exhaustive enums: a new one changes the contract, and code that does not
//! know it must not compile. What people read is `#[non_exhaustive]`: findings, histories, outcomes of runs, kinds of errors.
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
mod hint_channel;
pub mod ledger;
pub mod mailbox;
pub mod memory;
pub mod pubsub;
mod raise;
#[cfg(feature = "remote")]
pub mod remote;
pub mod subscribers;
#[cfg(feature = "testing")]
pub mod testing;
mod url;
mod variables;

use std::fmt;
use std::os::fd::OwnedFd;
use std::time::Duration;

pub use async_trait::async_trait;
pub use futures_util::stream::{self, BoxStream};
pub use tenure_core::store_rules::record::{self, Forgetting, RESERVATION, Use, WOKEN_BY_RESIGNATION};
pub use tenure_core::{
    Backoff, CampaignReply, CandidateId, ChannelName, ElectionName, Handover, Held, Instant, JobName, Leader,
    LossReason, MAX_CHANNEL_BYTES, MAX_NAME_BYTES, Metadata, NameError, NameFault, Namespace, Nonce, Priority,
    PriorityError, RenewReply, Sender, Term, WriteOutcome,
};
pub use tenure_core::{Campaign, Change, ElectionKey, Lease, Observation, Renew, Resign, StandBy, Transition};

pub use self::clock::Clock;
pub use self::error::{StoreError, StoreErrorKind, with_causes};
pub use self::hint::{Hint, Interest};
pub use self::hint_channel::{HintChannel, HintWatcher};
pub use self::ledger::JobLedger;
pub use self::mailbox::{
    Ack, AckReply, Mailbox, MailboxPromises, Message, MessageCount, MessageId, MessageState, NewMessage, OrderingKey,
    Receive, Received, random_message_id,
};
pub use self::memory::MemoryStore;
pub use self::pubsub::{Broadcast, PubSub, PubSubEvent, PubSubPromises};
pub use self::raise::check_raise;
pub use self::url::StoreUrl;
pub use self::variables::Variables;

/// One answer per request of a batch, in the same order.
pub type Replies<T> = Vec<Result<T, StoreError>>;

/// A place that keeps leases. Implement it with [`#[async_trait]`](macro@async_trait), as plain `async fn`s.
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
/// - The step that makes a reservation **wakes** the first [`WOKEN_BY_RESIGNATION`] in line: the successor at once, the next one
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
/// - A call does **nothing before its future is first polled**. Futures may be dropped at any time; once polled, the write
///   may or may not have happened then.
/// - All methods are called on a tokio runtime with I/O and time enabled, and must not block its thread.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// The promises of this store, and their limits.
    fn capabilities(&self) -> Capabilities;

    /// Takes each lease if it is free; otherwise stands by for it.
    async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply>;

    /// Renews each lease.
    async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply>;

    /// Releases each lease.
    async fn resign(&self, batch: &[Resign]) -> Replies<()>;

    /// Reads each election without taking part. Data in a record that tenure never wrote is an error of that election
    /// alone: [`StoreError::damaged`].
    async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation>;

    /// Lists the elections that ever had a candidate, in order of their names.
    async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError>;

    /// Asks the leader to hand over; its next renewal brings it the request. Returns whether there is a leader.
    async fn request_handover(&self, key: &ElectionKey, successor: Option<&CandidateId>) -> Result<bool, StoreError>;

    /// The latest transitions, newest first, `limit` at most.
    async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError>;

    /// Removes everything about an unused election: its history, its jobs, its dead letters. An
    /// election that changed within `idle_for` counts as used. An election in use is left unchanged. A damaged record
    /// is removed if `idle_for` is zero and its readable part shows neither a leader nor a candidate that stands by;
    /// terms continue above the highest readable one.
    async fn forget(&self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        let _ = (key, idle_for);
        let message = format!("the {} store keeps no records to forget", self.capabilities().name);
        Err(StoreError::refused(StoreErrorKind::Unsupported, message))
    }

    /// Makes the next term of this election, or of every election of the namespace, greater than `above`, because
    /// another store has granted terms up to there. This includes elections that have had no candidate yet. Never
    /// lowers a term, and leaves current leases unchanged. Returns how many of the known or named elections have a
    /// higher next term now. A store that does not support this, or that fails [`check_raise`], changes nothing and
    /// returns an error.
    async fn raise_terms(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, StoreError> {
        let _ = (namespace, only, above);
        let message = format!("the {} store keeps no terms to raise", self.capabilities().name);
        Err(StoreError::refused(StoreErrorKind::Unsupported, message))
    }

    /// Streams hints that something changed. The stream never ends; connection errors are retried in the background.
    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint>;

    /// A descriptor to be held open by the process that does the leader's work. A store that can see processes die
    /// does not grant the lease again before every holder of its life line is gone.
    fn life_line(&self) -> Option<OwnedFd> {
        None
    }

    /// The schema of the SQL database that holds the elections; `None` if the store has no such thing. Fences for
    /// transactions in that database call its functions. A store around another one passes on what that returns.
    fn schema(&self) -> Option<&str> {
        None
    }

    /// The mailbox for messages to leaders; `None` if the store has none.
    fn mailbox(&self) -> Option<&dyn Mailbox> {
        None
    }

    /// The ledger of jobs and their ticks; `None` if the store has none.
    fn ledger(&self) -> Option<&dyn JobLedger> {
        None
    }

    /// Broadcasts to all candidates of an election; `None` if the store has none.
    fn pubsub(&self) -> Option<&dyn PubSub> {
        None
    }

    /// Checks the store for `tenure doctor`: connects, reads, writes.
    async fn examine(&self) -> Vec<Finding>;
}

/// The capabilities of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The kind of store, such as `sqlite`.
    pub name: &'static str,
    /// The promises of the store and their limits, in one plain sentence.
    pub statement: &'static str,
    /// Whether followers get a hint about a resignation, instead of noticing it when the lease would have expired.
    pub pushes: bool,
    /// Whether the death of the leader's process is noticed before its lease expires.
    pub sees_death: bool,
    /// The shortest ttl that the store supports.
    pub min_ttl: Duration,
    /// Parts of the [contract](Store#contract) that this store does not support. Empty for most.
    pub lacks: &'static [Feature],
}

impl Capabilities {
    /// Capabilities of a store that keeps the whole contract, supports leases of a millisecond, and sends no hints.
    #[must_use]
    pub const fn new(name: &'static str, statement: &'static str) -> Self {
        let min_ttl = Duration::from_millis(1);
        Self { name, statement, pushes: false, sees_death: false, min_ttl, lacks: &[] }
    }

    /// Sets [`pushes`](Self::pushes).
    #[must_use]
    pub const fn with_pushes(self, pushes: bool) -> Self {
        Self { pushes, ..self }
    }

    /// Sets [`sees_death`](Self::sees_death).
    #[must_use]
    pub const fn with_sees_death(self, sees_death: bool) -> Self {
        Self { sees_death, ..self }
    }

    /// Sets [`min_ttl`](Self::min_ttl).
    #[must_use]
    pub const fn with_min_ttl(self, min_ttl: Duration) -> Self {
        Self { min_ttl, ..self }
    }

    /// Sets [`lacks`](Self::lacks).
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
    /// Others can see how long a lease remains valid. Without this, [`Held::remaining`] is the time to wait before
    /// asking the store again, and [`Lease::remaining`] and [`Lease::ttl`] are zero.
    Deadlines,
    /// Others can see the exact id of each candidate. Without this, all candidates of a handle share one id.
    Labels,
    /// Others can see the metadata that a leader has published.
    Metadata,
    /// The candidates that stand by are known, and a resigned lease is reserved for one of them.
    StandBys,
    /// Elections are listed, and their last terms known, even without a leader.
    Records,
    /// Transitions are recorded.
    History,
    /// A grant can be found again by its nonce through another handle. Without this, it ends with its handle.
    Handles,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadlines => "how long leases still run",
            Self::Labels => "candidate ids",
            Self::Metadata => "metadata",
            Self::StandBys => "who stands by",
            Self::Records => "elections without a leader",
            Self::History => "history",
            Self::Handles => "grants of other handles",
        })
    }
}

/// One result of [`Store::examine`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The name of the check, such as `writable`.
    pub check: &'static str,
    /// The verdict.
    pub severity: Severity,
    /// The finding, and what to do about it.
    pub detail: String,
}

/// The severity of a [`Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// In order.
    Good,
    /// Works, but needs attention.
    Warning,
    /// Elections are impossible in this state.
    Bad,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Bad => "bad",
        })
    }
}

impl Finding {
    /// A finding that is in order.
    pub fn good(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, severity: Severity::Good, detail: detail.into() }
    }

    /// A finding that needs attention.
    pub fn warning(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, severity: Severity::Warning, detail: detail.into() }
    }

    /// A finding that makes elections impossible.
    pub fn bad(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, severity: Severity::Bad, detail: detail.into() }
    }
}
