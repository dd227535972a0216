//! All properties at once, because each of them waits most of the time.

use std::time::Duration;

use futures_util::{StreamExt, stream};

use super::{Fixture, PropertyFn};

/// A property and its name.
pub type Named = (&'static str, PropertyFn);

/// Tries these properties, so many at the same time, each with a fixture of its own, and names all that do not hold. More
/// at a time would keep the processors so busy that answers come late.
///
/// # Panics
/// When one of them does not hold, or has no end within a minute.
pub fn every_property_holds<F: Fixture + 'static>(
    properties: &[Named],
    at_a_time: usize,
    fixture: impl AsyncFn() -> F,
) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let fixture = &fixture;
    let trials = properties.iter().map(|(name, property)| async move {
        holds(*property, fixture().await).await.err().map(|why| format!("{name}: {why}"))
    });
    let failures = stream::iter(trials).buffer_unordered(at_a_time).filter_map(async |failure| failure);
    let failures: Vec<String> = runtime.block_on(failures.collect());
    let count = properties.len();
    assert!(failures.is_empty(), "{} of {count} do not hold:\n{}", failures.len(), failures.join("\n"));
}

/// A task of its own, so that one that panics leaves the others alone.
async fn holds(property: PropertyFn, fixture: impl Fixture + 'static) -> Result<(), String> {
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
