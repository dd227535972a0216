//! The store of advisory locks passes the suite that every store passes, but for what it says it lacks, as a role that may
//! do nothing but log in.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use tenure::Store;
use tenure::conformance::{ALL, BROADCASTS, Fixture, NO_LEDGER, SESSIONS, expected_of, left_out, suite};
use tenure::store::{Feature, async_trait};
use tenure_testkit::postgres::{PostgresOptions, PostgresServer};

const ROLE: &str = "candidate";
const PASSWORD: &str = "secret";

static SERVER: LazyLock<PostgresServer> = LazyLock::new(|| {
    // A thousand elections at once take two locks each, and several tests do that at the same time.
    let options = PostgresOptions::default().role(ROLE, PASSWORD).max_connections(400);
    // Passwords take processor time, and each of the many handles would have to give one.
    let options = options.access_rule(&format!("host all {ROLE} 127.0.0.1/32 trust"));
    PostgresServer::start_with(options.setting("max_locks_per_transaction", "256"))
});

#[test]
fn on_a_server() {
    every_property_holds();
}

#[test]
fn what_is_left_out_is_what_a_lock_cannot_have() {
    let store = tenure::store::open(&"postgres+advisory://127.0.0.1/none".parse().unwrap()).unwrap();
    let capabilities = store.capabilities();
    let mut count: BTreeMap<Feature, usize> = BTreeMap::new();
    for (name, feature) in left_out(&capabilities) {
        println!("left out for lack of {feature:?}: {name}");
        *count.entry(feature).or_default() += 1;
    }
    let expected = [
        (Feature::Deadlines, 7),
        (Feature::Labels, 1),
        (Feature::Metadata, 1),
        (Feature::StandBys, 28),
        (Feature::Records, 12),
        (Feature::History, 6),
        (Feature::Handles, 1),
    ];
    assert_eq!(count, expected.into());
    assert_eq!(expected_of(&capabilities).count() + left_out(&capabilities).count(), ALL.len());
    // Nothing that says who may lead, and under which term, can be left out.
    for name in left_out(&capabilities).map(|(name, _)| name) {
        assert!(
            !["concurrent", "terms_grow", "renewal", "a_held_lease", "rivals"].iter().any(|word| name.contains(word))
        );
    }
}

fn every_property_holds() {
    let capabilities =
        tenure::store::open(&"postgres+advisory://127.0.0.1/none".parse().unwrap()).unwrap().capabilities();
    let more = [SESSIONS, BROADCASTS, NO_LEDGER].concat();
    let properties: Vec<suite::NamedProperty> = expected_of(&capabilities).copied().chain(more).collect();
    // Before the first one begins: what waits for an answer must not wait for a database that is being made.
    let databases: Vec<AdvisoryFixture> = properties.iter().map(|_| AdvisoryFixture::new()).collect();
    let databases = Mutex::new(databases);
    // One that is tried again needs another.
    let next = || databases.lock().unwrap().pop().unwrap_or_else(AdvisoryFixture::new);
    suite::every_property_holds(&properties, 8, async || next());
}

/// A database of its own.
struct AdvisoryFixture {
    url: String,
}

impl AdvisoryFixture {
    fn new() -> Self {
        let url = SERVER.new_database().url_as(ROLE, PASSWORD);
        Self { url: url.replacen("postgres://", "postgres+advisory://", 1) }
    }
}

#[async_trait]
impl Fixture for AdvisoryFixture {
    async fn open(&self) -> Arc<dyn Store> {
        suite::connected(tenure::store::open(&self.url.parse().unwrap()).unwrap()).await
    }

    async fn advance(&self, by: Duration) {
        // Waits because the clock of a real server cannot be moved.
        tokio::time::sleep(by).await;
    }

    fn slack(&self) -> Duration {
        Duration::from_millis(600)
    }
}
