//! The reference store passes the suite it is the reference for.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tenure::conformance::Fixture;
use tenure::testing::VirtualClock;
use tenure::{Clock, MemoryStore, Store};

struct MemoryFixture {
    clock: Arc<VirtualClock>,
    store: MemoryStore,
}

impl MemoryFixture {
    fn new() -> Self {
        let clock = VirtualClock::new();
        let store = MemoryStore::with_clock(Clock::controlled_by(&clock));
        Self { clock, store }
    }
}

impl Fixture for MemoryFixture {
    fn open(&self) -> BoxFuture<'_, Arc<dyn Store>> {
        Box::pin(async { Arc::new(self.store.clone()) as Arc<dyn Store> })
    }

    fn advance(&self, by: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.clock.advance(by) })
    }

    fn slack(&self) -> Duration {
        Duration::ZERO
    }
}

tenure::conformance_tests!(MemoryFixture::new());
