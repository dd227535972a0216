//! Logging to the application's `tracing` subscriber.

/// `tracing::LEVEL!`, contained.
macro_rules! log {
    ($($what:tt)+) => { ::tenure_store::contained_log!(module_path!(), $($what)+) };
}
