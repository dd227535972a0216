//! The suite every store must pass: one function per property of the [contract](tenure_store::Store#contract).
//!
//! Write a [`Fixture`] for your store and let [`conformance_tests!`](crate::conformance_tests) make one test of each
//! property:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use tenure::conformance::Fixture;
//! use tenure::store::{Store, async_trait};
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
//! #[async_trait]
//! impl Fixture for Memory {
//!     async fn open(&self) -> Arc<dyn Store> {
//!         Arc::new(self.store.clone())
//!     }
//!
//!     async fn advance(&self, by: Duration) {
//!         self.clock.advance(by);
//!     }
//!
//!     fn slack(&self) -> Duration {
//!         Duration::ZERO
//!     }
//! }
//!
//! tenure::conformance_tests!(Memory::new());
//! // A store without a mailbox says `no messages:` instead, one without pub/sub `no broadcasts:`, and one without a
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
mod message_count;
mod message_dead_letters;
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
mod raise_terms;
mod renew;
mod resign;
mod session;
mod stand_by;
mod successor;
pub mod suite;
mod term;
mod trial;
mod ttl;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tenure_store::{Store, async_trait};
use tokio::task::JoinError;

pub use self::list::{ALL, BROADCASTS, LEDGER, MESSAGES, NO_BROADCASTS, NO_LEDGER, NO_MESSAGES, SESSIONS};
pub use self::needs::{expected_of, left_out};
use self::trial::{PropertyTrial, TRIAL};

/// A property: completes if it holds, and panics if it does not.
pub type PropertyFn = for<'a> fn(&'a dyn Fixture) -> BoxFuture<'a, ()>;

/// An empty place for leases, made afresh for every property.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// Opens a new handle, as another process would: it shares the data with the other handles and nothing else.
    async fn open(&self) -> Arc<dyn Store>;

    /// Lets the store's clock go on by this much: a virtual clock at once, a real one by waiting.
    async fn advance(&self, by: Duration);

    /// How much the store's clock may go on by itself while a property runs a few operations, plus how late the
    /// store may notice that a lease ran out. A clock that stands still needs none. When it has gone on by so much more that
    /// something ran out which a property wanted to look at, the property is tried again.
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

/// Runs one property by its name, on its own runtime.
///
/// # Panics
/// When the property does not hold within a minute, or there is none of this name.
#[doc(hidden)]
pub fn run<F: Fixture + 'static>(name: &str, fixture: impl Fn() -> F) {
    let groups = [ALL, MESSAGES, NO_MESSAGES, BROADCASTS, NO_BROADCASTS, LEDGER, NO_LEDGER, SESSIONS];
    let mut all = groups.into_iter().flatten();
    let named = all.find(|(known, _)| *known == name).expect("a property of this name");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    if let Err(why) = runtime.block_on(prove(named, async || fixture())) {
        panic!("{why}");
    }
}

/// Checks a property, and repeats it with another fixture if the machine was too slow for a verdict. Returns why it
/// does not hold.
///
/// # Errors
/// When it does not hold, has no end within a minute, or nothing could be told of it however often it was tried.
#[doc(hidden)]
pub async fn prove<F: Fixture + 'static>(
    (name, property): &(&str, PropertyFn),
    fixture: impl AsyncFn() -> F,
) -> Result<(), String> {
    for number in 1..=TRIALS {
        let (property, fixture, trial) = (*property, fixture().await, Arc::new(PropertyTrial::new(number)));
        // A clock that is moved by hand runs out of nothing by itself.
        let is_real = !fixture.slack().is_zero();
        let proceedings = async move { tokio::time::timeout(PATIENCE, property(&fixture)).await };
        // A task of its own, so that one that panics leaves the others alone.
        match tokio::spawn(TRIAL.scope(Arc::clone(&trial), proceedings)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(_)) => return Err(format!("{name}: no end after {PATIENCE:?}")),
            Err(failure) => {
                let why = text_of(failure);
                if !is_real || !trial.is_void() || number == TRIALS {
                    return Err(format!("{name}: {why}"));
                }
                println!("{name} is tried again: something ran out before it was looked at ({why})");
            }
        }
    }
    Ok(())
}

fn text_of(failure: JoinError) -> String {
    let Ok(message) = failure.try_into_panic() else { return "it was cancelled".to_owned() };
    let text = message.downcast_ref::<String>().cloned();
    text.or_else(|| message.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// Far more than any property takes on a slow server under load.
const PATIENCE: Duration = Duration::from_secs(60);

/// What runs out soonest does so after a second. On a machine that needs longer for a few requests, most of the time, nothing
/// can be told.
const TRIALS: u32 = 10;
