//! Keys of its own for each property, on servers that others use as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::Store;
use tenure::conformance::{ALL, BROADCASTS, Fixture, LEDGER, MESSAGES, suite};
use tenure::store::async_trait;

/// How many properties are tried at the same time.
#[derive(Clone, Copy)]
pub(crate) enum PropertyPace {
    Brisk = 16,
    /// Each connection takes tens of milliseconds of processor time, or there are many of them.
    Calm = 4,
}

/// Tries all properties with the servers at this address and these options.
pub(crate) fn every_property_holds(address: &str, options: &[&str], pace: PropertyPace) {
    let properties: Vec<suite::NamedProperty> = [ALL, MESSAGES, BROADCASTS, LEDGER].concat();
    suite::every_property_holds(&properties, pace as usize, async || KeyspaceFixture::new(address, options));
}

struct KeyspaceFixture {
    url: String,
}

impl KeyspaceFixture {
    fn new(address: &str, options: &[&str]) -> Self {
        static USED: AtomicU64 = AtomicU64::new(1);
        let prefix = format!("prefix=tenure:{}", USED.fetch_add(1, Ordering::Relaxed));
        let options: Vec<&str> = options.iter().copied().chain([prefix.as_str()]).collect();
        Self { url: format!("{address}?{}", options.join("&")) }
    }
}

#[async_trait]
impl Fixture for KeyspaceFixture {
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
