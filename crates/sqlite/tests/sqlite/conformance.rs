//! The embedded store passes the same suite as every other store.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tenure::conformance::Fixture;
use tenure::store::async_trait;
use tenure::store::sqlite::SqliteStore;
use tenure::testing::VirtualClock;
use tenure::{Clock, Store};

/// A database of its own, removed with the fixture.
struct SqliteFixture {
    clock: Arc<VirtualClock>,
    directory: TempDir,
}

impl SqliteFixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Self { clock: VirtualClock::new(), directory }
    }
}

#[async_trait]
impl Fixture for SqliteFixture {
    async fn open(&self) -> Arc<dyn Store> {
        let path = self.directory.path().join("conformance.db");
        let clock = Clock::controlled_by(&self.clock);
        let store = SqliteStore::open_with_clock(&path, clock).expect("the store opens");
        Arc::new(store)
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    fn slack(&self) -> Duration {
        Duration::ZERO
    }
}

tenure::conformance_tests!(SqliteFixture::new());
tenure::conformance_tests!(messages: SqliteFixture::new());
tenure::conformance_tests!(broadcasts: SqliteFixture::new());
tenure::conformance_tests!(ledger: SqliteFixture::new());
