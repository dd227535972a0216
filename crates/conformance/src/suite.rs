//! All properties at once, because each of them waits most of the time.

use futures_util::{StreamExt, stream};
use tokio::sync::Semaphore;

use super::{Fixture, PropertyFn, prove};

/// A property and its name.
pub type NamedProperty = (&'static str, PropertyFn);

/// How many properties are tried at the same time in all tests of a program, however many of those run side by side.
static PLACES: Semaphore = Semaphore::const_new(48);

/// Tries these properties, so many at the same time, each with a fixture of its own, and names all that do not hold. More
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
