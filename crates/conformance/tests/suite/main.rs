//! Proves that the conformance suite bites: every known flaw of a store is found by the property that names it, and the
//! reference store has none.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

mod flaw;
mod flawed;
mod ledger;
mod mailbox;
mod memory;
mod pubsub;
mod slow;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tenure::Store;
use tenure::conformance::{
    ALL, BROADCASTS, Fixture, LEDGER, MESSAGES, NO_BROADCASTS, NO_LEDGER, NO_MESSAGES, PropertyFn,
};
use tenure::store::async_trait;
use tenure::testing::VirtualClock;

use self::flaw::{FLAWS, Flaw};
use self::flawed::Flawed;

struct FlawedFixture {
    clock: Arc<VirtualClock>,
    store: Flawed,
}

impl FlawedFixture {
    fn new(flaw: Option<Flaw>) -> Self {
        let clock = VirtualClock::new();
        let store = Flawed::new(&clock, flaw);
        Self { clock, store }
    }
}

#[async_trait]
impl Fixture for FlawedFixture {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    fn slack(&self) -> Duration {
        Duration::ZERO
    }
}

#[test]
fn a_store_without_flaw_passes() {
    assert_eq!(broken_properties(ALL, None), BTreeSet::new());
    assert_eq!(broken_properties(MESSAGES, None), BTreeSet::new());
    assert_eq!(broken_properties(BROADCASTS, None), BTreeSet::new());
    assert_eq!(broken_properties(LEDGER, None), BTreeSet::new());
}

#[test]
fn every_flaw_is_found_by_the_property_that_names_it() {
    let mut missed = Vec::new();
    for (flaw, property) in FLAWS {
        // A flaw of elections breaks properties of messages, too, and they take long.
        let is_in = |group: &&[(&str, PropertyFn)]| group.iter().any(|(name, _)| name == property);
        let group = [MESSAGES, BROADCASTS, LEDGER].into_iter().find(is_in).unwrap_or(ALL);
        let broken = broken_properties(group, Some(*flaw));
        println!("{flaw:?}: {broken:?}");
        if !broken.contains(property) {
            missed.push((flaw, property));
        }
    }
    assert!(missed.is_empty(), "not found: {missed:#?}");
}

#[test]
fn no_two_properties_have_the_same_name() {
    let all = || [ALL, MESSAGES, NO_MESSAGES, BROADCASTS, NO_BROADCASTS, LEDGER, NO_LEDGER].into_iter().flatten();
    let names: BTreeSet<&str> = all().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), all().count());
}

fn broken_properties(group: &[(&'static str, PropertyFn)], flaw: Option<Flaw>) -> BTreeSet<&'static str> {
    group.iter().filter(|(_, property)| !holds(*property, flaw)).map(|(name, _)| *name).collect()
}

fn holds(property: PropertyFn, flaw: Option<Flaw>) -> bool {
    // A hint that never comes is waited for on tokio's clock, which jumps ahead when it is paused.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let fixture = FlawedFixture::new(flaw);
    runtime.block_on(AssertUnwindSafe(property(&fixture)).catch_unwind()).is_ok()
}
