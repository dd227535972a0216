//! Runs all properties concurrently, because each of them mostly waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use tenure_core::Namespace;
use tenure_store::Store;
use tokio::sync::Semaphore;

use super::{Fixture, PropertyFn, prove};

/// A property and its name.
pub type NamedProperty = (&'static str, PropertyFn);

/// How many properties are tried at the same time in all tests of a program, however many of those run side by side.
static PLACES: Semaphore = Semaphore::const_new(48);
/// A connection takes processor time, and if many were made at once all of them would take long.
static DOORS: Semaphore = Semaphore::const_new(4);

/// Checks these properties, `at_a_time` concurrently, each with its own fixture, and names all that do not hold. More
/// at a time would keep the processors so busy that answers come late.
///
/// # Panics
/// When one of them does not hold, or has no end within a minute.
pub fn every_property_holds<F: Fixture + 'static>(
    properties: &[NamedProperty],
    at_a_time: usize,
    fixture: impl AsyncFn() -> F,
) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let fixture = &fixture;
    let trials = properties.iter().map(|property| async move {
        let _place = PLACES.acquire().await;
        prove(property, fixture).await
    });
    let failures = stream::iter(trials).buffer_unordered(at_a_time).filter_map(async |proof| proof.err());
    let failures: Vec<String> = runtime.block_on(failures.collect());
    let count = properties.len();
    assert!(failures.is_empty(), "{} of {count} do not hold:\n{}", failures.len(), failures.join("\n"));
}

/// Returns the handle once it has a connection: on a busy machine that takes a while, and properties measure time.
///
/// # Panics
/// When it has none within most of a minute.
pub async fn connected(store: Arc<dyn Store>) -> Arc<dyn Store> {
    const PATIENCE: Duration = Duration::from_secs(50);
    let _door = DOORS.acquire().await;
    let began = Instant::now();
    while let Err(error) = store.elections(&Namespace::default()).await {
        assert!(began.elapsed() < PATIENCE, "{error}");
    }
    store
}
