//! All properties at once, because each of them waits most of the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use tenure::conformance::{ALL, Fixture, MESSAGES, PropertyFn};
use tenure::store::postgres::{Migration, PostgresConfig};
use tenure::{Namespace, Store};

/// The role that candidates log in as. It owns nothing.
pub(crate) const APP: &str = "app";
pub(crate) const PASSWORD: &str = "app-password";

/// Tries all properties but these with the server at this address, and names all that do not hold.
pub(crate) fn every_property_holds(owner: &str, candidates: &str, except: &[&str]) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let properties = || ALL.iter().chain(MESSAGES).filter(|(name, _)| !except.contains(name));
    assert_eq!(properties().count() + except.len(), ALL.len() + MESSAGES.len(), "an exception that is no property");
    let trials = properties().map(|(name, property)| async move {
        let fixture = Schema::new(owner, candidates).await;
        holds(*property, fixture).await.err().map(|why| format!("{name}: {why}"))
    });
    let failures = stream::iter(trials).buffer_unordered(8).filter_map(async |failure| failure);
    let failures: Vec<String> = runtime.block_on(failures.collect());
    let count = properties().count();
    assert!(failures.is_empty(), "{} of {count} do not hold:\n{}", failures.len(), failures.join("\n"));
}

/// A schema of its own on a server that others use as well.
struct Schema {
    url: String,
}

impl Schema {
    async fn new(owner: &str, candidates: &str) -> Self {
        static USED: AtomicU64 = AtomicU64::new(1);
        let schema = format!("schema {}", USED.fetch_add(1, Ordering::Relaxed));
        let config = PostgresConfig::from_url(&owner.parse().unwrap()).unwrap().schema(&schema).unwrap();
        Migration::new(&config).role(APP).unwrap().run().await.unwrap();
        Self { url: format!("{candidates}?schema={}", schema.replace(' ', "%20")) }
    }
}

impl Fixture for Schema {
    fn open(&self) -> BoxFuture<'_, Arc<dyn Store>> {
        Box::pin(async {
            let store = tenure::store::open(&self.url.parse().unwrap()).unwrap();
            // A login takes its time on a busy machine, and properties measure theirs.
            store.elections(&Namespace::default()).await.unwrap();
            store
        })
    }

    fn advance(&self, by: Duration) -> BoxFuture<'_, ()> {
        // Waits because the clock of a real server cannot be moved.
        Box::pin(tokio::time::sleep(by))
    }

    fn slack(&self) -> Duration {
        Duration::from_millis(900)
    }
}

/// A task of its own, so that one that panics leaves the others alone.
async fn holds(property: PropertyFn, fixture: Schema) -> Result<(), String> {
    let trial = tokio::spawn(async move { tokio::time::timeout(PATIENCE, property(&fixture)).await });
    match trial.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(format!("no end after {PATIENCE:?}")),
        Err(failure) => {
            let message = failure.into_panic();
            let text = message.downcast_ref::<String>().cloned();
            Err(text.or_else(|| message.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default())
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(60);
