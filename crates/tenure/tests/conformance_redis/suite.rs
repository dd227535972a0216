//! All properties at once, because each of them waits most of the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use tenure::Store;
use tenure::conformance::{ALL, Fixture, MESSAGES, PropertyFn};

/// How many properties are tried at the same time: more would keep the processors so busy that answers come late.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    Brisk = 16,
    /// Each connection takes tens of milliseconds of processor time.
    Calm = 4,
}

/// Tries all properties with the servers at this address and these options, and names all that do not hold.
pub(crate) fn every_property_holds(address: &str, options: &[&str], pace: Pace) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let properties = || ALL.iter().chain(MESSAGES);
    let trials = properties().map(|(name, property)| async move {
        let fixture = Keyspace::new(address, options);
        holds(*property, fixture).await.err().map(|why| format!("{name}: {why}"))
    });
    let failures = stream::iter(trials).buffer_unordered(pace as usize).filter_map(async |failure| failure);
    let failures: Vec<String> = runtime.block_on(failures.collect());
    assert!(
        failures.is_empty(),
        "{} of {} do not hold:\n{}",
        failures.len(),
        properties().count(),
        failures.join("\n")
    );
}

/// Keys of its own on servers that others use as well.
struct Keyspace {
    url: String,
}

impl Keyspace {
    fn new(address: &str, options: &[&str]) -> Self {
        static USED: AtomicU64 = AtomicU64::new(1);
        let prefix = format!("prefix=tenure:{}", USED.fetch_add(1, Ordering::Relaxed));
        let options: Vec<&str> = options.iter().copied().chain([prefix.as_str()]).collect();
        Self { url: format!("{address}?{}", options.join("&")) }
    }
}

impl Fixture for Keyspace {
    fn open(&self) -> BoxFuture<'_, Arc<dyn Store>> {
        Box::pin(async { tenure::store::open(&self.url.parse().unwrap()).unwrap() })
    }

    fn advance(&self, by: Duration) -> BoxFuture<'_, ()> {
        // Waits because the clock of a real server cannot be moved.
        Box::pin(tokio::time::sleep(by))
    }

    fn slack(&self) -> Duration {
        Duration::from_millis(600)
    }
}

/// A task of its own, so that one that panics leaves the others alone.
async fn holds(property: PropertyFn, fixture: Keyspace) -> Result<(), String> {
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
