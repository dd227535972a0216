//! The suite every store must pass: one function per property of the [contract](tenure_store::Store#contract).
//!
//! Write a [`Fixture`] for your store and let [`conformance_tests!`](crate::conformance_tests) make one test of each
//! property:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use futures_util::future::BoxFuture;
//! use tenure::conformance::Fixture;
//! use tenure::store::Store;
//! use tenure::testing::VirtualClock;
//! use tenure::{Clock, MemoryStore};
//!
//! struct Memory {
//!     clock: Arc<VirtualClock>,
//!     store: MemoryStore,
//! }
//!
//! impl Memory {
//!     fn new() -> Self {
//!         let clock = VirtualClock::new();
//!         let store = MemoryStore::with_clock(Clock::controlled_by(&clock));
//!         Self { clock, store }
//!     }
//! }
//!
//! impl Fixture for Memory {
//!     fn open(&self) -> BoxFuture<'_, Arc<dyn Store>> {
//!         Box::pin(async { Arc::new(self.store.clone()) as Arc<dyn Store> })
//!     }
//!
//!     fn advance(&self, by: Duration) -> BoxFuture<'_, ()> {
//!         Box::pin(async move { self.clock.advance(by) })
//!     }
//!
//!     fn slack(&self) -> Duration {
//!         Duration::ZERO
//!     }
//! }
//!
//! tenure::conformance_tests!(Memory::new());
//! // A store without a mailbox says `no messages:` instead, one without a bulletin `no broadcasts:`, and one without a
//! // ledger `no ledger:`.
//! tenure::conformance_tests!(messages: Memory::new());
//! tenure::conformance_tests!(broadcasts: Memory::new());
//! tenure::conformance_tests!(ledger: Memory::new());
//! ```
//!
//! The properties assume nothing beyond the contract: terms need not be consecutive, an expired lease need not be
//! written down before somebody takes it, and a store that says it does not push is not asked for hints.
//!
//! A store that [lacks](tenure_store::Capabilities::lacks) a part of the contract runs the properties that
//! [`expected_of`] gives, and shows by a test of its own what is [`left_out`].

#![expect(clippy::panic, reason = "a property that does not hold says so by panicking, like any test")]

mod ambiguity;
mod announcements;
mod batch;
mod bookkeeping;
mod broadcast;
mod broadcast_text;
mod campaign;
mod capabilities;
mod concurrency;
mod correspondence;
mod elections;
mod forget;
mod handover;
mod history;
mod ledger_apart;
mod ledger_claim;
mod ledger_concurrency;
mod ledger_finish;
mod ledger_holder;
mod ledger_open;
mod ledger_report;
mod ledger_run;
mod ledger_steer;
mod ledger_unbegun;
mod list;
mod list_ledger;
mod message_aside;
mod message_count;
mod message_receive;
mod message_send;
mod message_settle;
mod message_text;
mod message_watch;
mod names;
mod needs;
mod no_broadcasts;
mod no_ledger;
mod no_messages;
mod nonce;
mod observe;
mod player;
mod renew;
mod resign;
mod session;
mod stand_by;
mod successor;
pub mod suite;
mod term;
mod ttl;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tenure_store::Store;

pub use self::list::{ALL, BROADCASTS, LEDGER, MESSAGES, NO_BROADCASTS, NO_LEDGER, NO_MESSAGES, SESSIONS};
pub use self::needs::{expected_of, left_out};

/// One property: completes when it holds, panics when it does not.
pub type PropertyFn = for<'a> fn(&'a dyn Fixture) -> BoxFuture<'a, ()>;

/// An empty place to keep leases in, made afresh for every property.
pub trait Fixture: Send + Sync {
    /// Opens a new handle, as another process would: it shares the data with the other handles and nothing else.
    fn open(&self) -> BoxFuture<'_, Arc<dyn Store>>;

    /// Lets the store's clock go on by this much: a virtual clock at once, a real one by waiting.
    fn advance(&self, by: Duration) -> BoxFuture<'_, ()>;

    /// How much the store's clock may go on by itself while a property runs a few operations, plus how late the
    /// store may notice that a lease ran out. A clock that stands still needs none.
    fn slack(&self) -> Duration {
        Duration::from_millis(300)
    }
}

/// Makes one `#[test]` of each property in [`conformance::ALL`](crate::ALL). The expression makes a
/// [`Fixture`](crate::Fixture) and is evaluated once per property, inside a tokio runtime.
///
/// After `sessions:` it takes the properties in [`conformance::SESSIONS`](crate::SESSIONS), for stores whose
/// leases end with their handle.
///
/// After `messages:` it takes the properties in [`conformance::MESSAGES`](crate::MESSAGES), and after
/// `no messages:` those in [`conformance::NO_MESSAGES`](crate::NO_MESSAGES): the tests of a store name one
/// of the two, so that nobody has to guess whether messages were left out or forgotten. `broadcasts:` and `no broadcasts:`
/// do the same with [`conformance::BROADCASTS`](crate::BROADCASTS) and
/// [`conformance::NO_BROADCASTS`](crate::NO_BROADCASTS).
/// `ledger:` and `no ledger:` do so with [`conformance::LEDGER`](crate::LEDGER) and
/// [`conformance::NO_LEDGER`](crate::NO_LEDGER).
#[macro_export]
macro_rules! conformance_tests {
    (messages: $fixture:expr) => {
        $crate::__conformance_message_properties! { [$crate::__conformance_test] ($fixture) }
    };
    (no messages: $fixture:expr) => {
        $crate::__conformance_no_message_properties! { [$crate::__conformance_test] ($fixture) }
    };
    (broadcasts: $fixture:expr) => {
        $crate::__conformance_broadcast_properties! { [$crate::__conformance_test] ($fixture) }
    };
    (no broadcasts: $fixture:expr) => {
        $crate::__conformance_no_broadcast_properties! { [$crate::__conformance_test] ($fixture) }
    };
    (ledger: $fixture:expr) => {
        $crate::__conformance_ledger_properties! { [$crate::__conformance_test] ($fixture) }
    };
    (no ledger: $fixture:expr) => {
        $crate::__conformance_no_ledger_properties! { [$crate::__conformance_test] ($fixture) }
    };
    (sessions: $fixture:expr) => {
        $crate::__conformance_session_properties! { [$crate::__conformance_test] ($fixture) }
    };
    ($fixture:expr) => {
        $crate::__conformance_properties! { [$crate::__conformance_test] ($fixture) }
    };
}

/// Runs one property by its name, on a runtime of its own.
///
/// # Panics
/// When the property does not hold within a minute, or there is none of this name.
#[doc(hidden)]
pub fn run<F: Fixture>(name: &str, fixture: impl FnOnce() -> F) {
    let groups = [ALL, MESSAGES, NO_MESSAGES, BROADCASTS, NO_BROADCASTS, LEDGER, NO_LEDGER, SESSIONS];
    let mut all = groups.into_iter().flatten();
    let (_, property) = all.find(|(known, _)| *known == name).expect("a property of this name");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let fixture = fixture();
        let finished = tokio::time::timeout(PATIENCE, property(&fixture)).await;
        assert!(finished.is_ok(), "{name}: no end after {PATIENCE:?}");
    });
}

/// Far more than any property takes on a slow server under load.
const PATIENCE: Duration = Duration::from_secs(60);
