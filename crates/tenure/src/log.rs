//! Telling the application's subscriber what happens.

/// `tracing::LEVEL!`, contained.
macro_rules! log {
    ($($what:tt)+) => { ::tenure_store::contained_log!(module_path!(), $($what)+) };
}
