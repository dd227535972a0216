//! A schema of its own for each property, on a server that others use as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::Store;
use tenure::conformance::{ALL, BROADCASTS, Fixture, LEDGER, MESSAGES, suite};
use tenure::store::async_trait;
use tenure::store::postgres::{Migration, PostgresConfig};

/// The role that candidates log in as. It owns nothing.
pub(crate) const APP: &str = "app";
pub(crate) const PASSWORD: &str = "app-password";

/// Tries all properties but these with the server at this address.
pub(crate) fn every_property_holds(owner: &str, candidates: &str, except: &[&str]) {
    let mut properties: Vec<suite::NamedProperty> = [ALL, MESSAGES, BROADCASTS, LEDGER].concat();
    let all = properties.len();
    properties.retain(|(name, _)| !except.contains(name));
    assert_eq!(properties.len() + except.len(), all, "an exception that is no property");
    suite::every_property_holds(&properties, AT_A_TIME, async || SchemaFixture::new(owner, candidates).await);
}

/// Each has connections of its own, and a login takes tens of milliseconds of processor time.
const AT_A_TIME: usize = 8;

struct SchemaFixture {
    url: String,
}

impl SchemaFixture {
    async fn new(owner: &str, candidates: &str) -> Self {
        static USED: AtomicU64 = AtomicU64::new(1);
        let schema = format!("schema {}", USED.fetch_add(1, Ordering::Relaxed));
        let config = PostgresConfig::from_url(&owner.parse().unwrap()).unwrap().schema(&schema).unwrap();
        Migration::new(&config).role(APP).unwrap().run().await.unwrap();
        Self { url: format!("{candidates}?schema={}", schema.replace(' ', "%20")) }
    }
}

#[async_trait]
impl Fixture for SchemaFixture {
    async fn open(&self) -> Arc<dyn Store> {
        suite::connected(tenure::store::open(&self.url.parse().unwrap()).unwrap()).await
    }

    async fn advance(&self, by: Duration) {
        // Waits because the clock of a real server cannot be moved.
        tokio::time::sleep(by).await;
    }

    fn slack(&self) -> Duration {
        Duration::from_millis(900)
    }
}
