//! The reference store passes the suite it is the reference for, even when every request arrives twice.

use std::sync::Arc;
use std::time::Duration;

use tenure::conformance::Fixture;
use tenure::store::async_trait;
use tenure::testing::{Fault, FaultyStore, Operation, VirtualClock};
use tenure::{Clock, MemoryStore, Store};

struct MemoryFixture {
    clock: Arc<VirtualClock>,
    store: MemoryStore,
    duplicated: bool,
}

impl MemoryFixture {
    fn new() -> Self {
        let clock = VirtualClock::new();
        let store = MemoryStore::with_clock(Clock::controlled_by(&clock));
        Self { clock, store, duplicated: false }
    }

    fn with_every_request_duplicated() -> Self {
        Self { duplicated: true, ..Self::new() }
    }
}

#[async_trait]
impl Fixture for MemoryFixture {
    async fn open(&self) -> Arc<dyn Store> {
        let store = FaultyStore::new(Arc::new(self.store.clone()));
        if self.duplicated {
            store.inject_everywhere(&Fault::Duplicate);
            // It tells how many it put back, which is none the second time.
            store.clear(Operation::Requeue);
            // Nobody remembers what was said, so it would be heard twice.
            store.clear(Operation::Broadcast);
            // It tells whether there was something to forget, likewise.
            store.clear(Operation::ForgetJob);
        }
        store
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    fn slack(&self) -> Duration {
        Duration::ZERO
    }
}

mod each_request_arrives_once {
    tenure::conformance_tests!(super::MemoryFixture::new());
    tenure::conformance_tests!(messages: super::MemoryFixture::new());
    tenure::conformance_tests!(broadcasts: super::MemoryFixture::new());
    tenure::conformance_tests!(ledger: super::MemoryFixture::new());
}

mod each_request_arrives_twice {
    tenure::conformance_tests!(super::MemoryFixture::with_every_request_duplicated());
    tenure::conformance_tests!(messages: super::MemoryFixture::with_every_request_duplicated());
    tenure::conformance_tests!(broadcasts: super::MemoryFixture::with_every_request_duplicated());
    tenure::conformance_tests!(ledger: super::MemoryFixture::with_every_request_duplicated());
}
