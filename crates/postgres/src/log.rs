//! Reports to the application's `tracing` subscriber.

/// `tracing::LEVEL!`, contained, under the name that applications know this store by.
macro_rules! log {
    ($($what:tt)+) => { ::tenure_store::contained_log!("tenure::store::postgres", $($what)+) };
}
