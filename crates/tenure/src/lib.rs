//! Leader election for applications: at most one of many instances leads, and each knows at every instant whether it does.
//!
//! # What is not guaranteed
//! - **A write of an old leader can arrive late.** It is sent while the leader leads, and reaches its target under the next
//!   leader. The sender cannot prevent that. Only a resource that checks the [term](Leadership::term) and rejects any lower
//!   than the highest it has seen is safe.
//! - **There is not always a leader.** After a leader crashes nobody leads until its lease has run out, or until the
//!   store has seen its process die.
//! - **Blocking code is not ended by force.** It is told to stop, and has to comply by itself. Only a future can be dropped,
//!   and only the command line can kill.
//! - **A machine that lies about time breaks the promise.** Two clocks may disagree by any amount, but their *rates*
//!   may differ only by [`Drift`]. A virtual machine that is paused with all its clocks breaks that.
//! - **Linux only**: it needs `CLOCK_BOOTTIME`, `timerfd` and `pidfd`.
//!
//! # What is promised
//! Terms only grow, unless the store forgets them. No two candidates trust themselves at the same instant.
//! [`Candidacy::is_leader`] asks the clock on every call, so it is false in time even if the process was paused, swapped out or
//! suspended since the last call. The lease is released only after the work under it has ended. Store errors never end a
//! candidacy: they are [reported](EventKind::Error), and the candidate tries again.
//!
//! [`StoreHandle::capabilities`] tells in one sentence how much of this a store can guarantee.
//!
//! # Example
//! ```
//! use tenure::blocking::Client;
//!
//! let client = Client::open("memory:")?; // sqlite:PATH lets the processes of one machine meet
//! let candidacy = client.election("nightly-report")?.candidate().start()?;
//! let report = candidacy.run_while_leader(|leadership| {
//!     // Ask leadership.is_cancelled() between two steps of longer work.
//!     format!("report of term {}", leadership.term())
//! })?;
//! assert_eq!(report, "report of term 1");
//! candidacy.stop();
//! # Ok::<(), tenure::Error>(())
//! ```
//!
//! Async applications use [`Candidacy::run_while_leader`], [`Candidacy::elected`] and [`Candidacy::events`]. To skip work
//! when not leading, ask [`Candidacy::is_leader`] or call [`Candidacy::run_if_leader`].
//! [`Candidacy::consume`] empties a queue while leading. A candidacy whose work has ended pauses until it is asked to lead again:
//! nobody leads without working. [`Candidacy::state`] serves readiness probes.
//!
//! # Messages
//! [`Election::send`] reaches the current leader or the next, at least once and in order per sender. The leader gets messages
//! through [`CandidacyBuilder::on_message`] or [`Candidacy::channel`]. Messages that it did not settle go to the next leader.
//!
//! # Locks
//! [`Client::lock`] describes a lock: an election whose leader leaves when its work is done. [`Lock::with_lock`] runs work
//! once under it, and [`Lock::acquire`] gives a [`LockGuard`]. Waiters are served in order of arrival.
//!
//! # Jobs by the calendar
//! With [`CandidacyBuilder::job`] the leader runs a job whenever a cron expression matches, each tick at most once across all
//! candidates. Ticks missed while nobody led follow the job's policy; see [`cron`].
//!
//! # The trust window
//! ```diagram
//! store      ...............[====================== ttl ======================]
//! candidate  .....[=============== hold ================]
//!                 ^         ^              ^       ^    ^                     ^
//!                 sent at   granted        stop    kill trusted until         next grant, at the earliest
//! ```
//! A candidate counts from before it *sent* the request, and shortens the ttl by the drift that both clocks may have:
//! `hold = ttl * (1 - rho) / (1 + rho) - 1 ms`. A renewal moves the window, counted from the sending of that renewal.
//!
//! - Before *stop*, [`Candidacy::is_leader`] is true and new work may begin.
//! - At *stop*, [`Leadership::cancelled`] completes. Work has the grace to end.
//! - At *kill*, [`Leadership::overdue`] completes, and futures that still run are dropped.
//! - From *trusted until* on, [`Leadership::is_valid`] is false, too.
//!
//! A [`Timing`] that would not survive at least one failed renewal cannot be built. [`Timing::predict`] tells the longest
//! failover, the longest outage of the store that is survived, and the load on the store.
//!
//! # Threads
//! Each [`Client`] has one thread with its own runtime, which holds all elections made from it and renews their leases
//! together. An application that blocks its own threads keeps its leases; one that hangs keeps them, too, unless
//! it sets a [required heartbeat](CandidacyBuilder::require_heartbeat). No async runtime is needed: [`blocking`] has the same types
//! and methods for plain threads. Callbacks run one at a time per election, on a thread of their own; a panic, an
//! error or a hang in one is reported and stops neither renewals nor other elections. A child made by `fork` never
//! leads.
//!
//! # Cancellation
//! Every async method says what dropping its future does. Waiting ([`Candidacy::elected`], [`Leadership::cancelled`],
//! [`Events::next`]) is cancel safe. [`Candidacy::resign`] and [`Candidacy::stop`] go on in the background. Dropping
//! [`Candidacy::run_while_leader`] drops the work, resigns and pauses the candidacy. Dropping a [`Candidacy`] leaves the
//! election in the background; a process that ends at once may be gone before the lease is released.
//!
//! # Features
//! | feature | default | what it adds |
//! |---|---|---|
//! | `cron` | yes | `cron`: jobs by the calendar, with the time zones of the world |
//! | `sqlite` | yes | the store `sqlite:PATH` |
//! | `redis` | no | the stores `redis://…`, `redis+sentinel://…` and `redis+cluster://…`, and a fence |
//! | `redis-tls` | no | the same with TLS, such as `rediss://…`; includes `redis` |
//! | `postgres` | no | the store `postgres://…`, its migration, and a fence |
//! | `metrics` | no | `metrics`: what to alert on, for any exporter of the `metrics` facade |
//! | `testing` | no | `testing`: a clock to move by hand, and a store whose replies go astray |
//! | `conformance` | no | `conformance`: the suite every store must pass; includes `testing` |
//!
//! # Testing your own failover
//! With the feature `testing` an hour takes no time and a lost reply is one line. Give a `VirtualClock` and a
//! `FaultyStore` to `Client::builder`, cut the leader off, move the clock, and look at what your
//! application does. The tutorial in `docs/tutorial.md` has a whole test.

#[macro_use]
mod log;

mod block_on;
pub mod blocking;
mod broadcasts;
mod callback;
mod candidacy;
mod client;
mod client_builder;
#[doc(hidden)]
pub mod crash;
#[cfg(feature = "cron")]
pub mod cron;
mod disposal;
mod driver;
mod election;
mod error;
mod event;
#[cfg(any(feature = "postgres", feature = "redis"))]
pub mod fencing;
mod hints;
mod identity;
mod inside;
mod leadership;
mod lock;
mod machine_loop;
mod messages;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(not(feature = "metrics"))]
mod metrics;
mod on_demand_thread;
mod pending;
mod phase;
mod retry;
mod shared;
pub mod store;
mod store_handle;

#[cfg(feature = "conformance")]
#[doc(inline)]
pub use tenure_conformance::{self as conformance, conformance_tests};
#[doc(inline)]
pub use tenure_core::{
    Anomaly, CandidateId, ChannelName, DEFAULTS, Defaults, Drift, ElectionName, Instant, JobName, Leader, LossReason,
    Metadata, NameError, Namespace, Prediction, Preset, Priority, PriorityError, Sender, Term, Timing, TimingBuilder,
    TimingError, Trust, UnknownPreset, WriteOutcome,
};
#[cfg(feature = "testing")]
#[doc(inline)]
pub use tenure_store::testing;
#[doc(inline)]
pub use tenure_store::{Clock, with_causes};
use tenure_store::{clock, contain};

pub use broadcasts::Broadcasts;
pub use callback::CallbackResult;
pub use candidacy::{Candidacy, CandidacyBuilder, CandidacyState, StoreOutage};
pub use client::{Client, Observations};
pub use client_builder::ClientBuilder;
pub use election::Election;
pub use error::{Error, ErrorKind};
pub use event::{ElectionError, Event, EventKind, Events};
pub use hints::Hints;
pub use leadership::{Leadership, Work};
pub use lock::{Lock, LockGuard, LockWait};
pub use messages::{Channel, Delivery};
pub use store::{
    Broadcast, MemoryStore, Message, MessageCount, MessageId, MessageState, Store, StoreError, StoreUrl,
    random_message_id,
};
pub use store_handle::StoreHandle;

/// The Rust blocks of the documents outside of this crate are compiled and run, too.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/tutorial.md")]
    struct Tutorial;
    #[doc = include_str!("../../../docs/fencing.md")]
    struct FencingDocument;
    #[doc = include_str!("../../../docs/messages.md")]
    struct MessagesDocument;
    #[doc = include_str!("../../../docs/locks.md")]
    struct LocksDocument;
    #[doc = include_str!("../../../docs/metrics.md")]
    struct Metrics;
    #[cfg(feature = "cron")]
    #[doc = include_str!("../../../docs/jobs.md")]
    struct CronDocument;
}
