//! Reports to the application's `tracing` subscriber.

/// `tracing::LEVEL!` with this target, whatever becomes of it: a subscriber is code of the application, and one that panics
/// (because the pipe it writes to is closed, say) must end no election.
#[doc(hidden)]
#[macro_export]
macro_rules! contained_log {
    ($target:expr, $level:ident, $($what:tt)+) => {
        // What cannot be told is not told; there is nobody else to tell.
        drop($crate::contain::contain(|| ::tracing::$level!(target: $target, $($what)+)))
    };
}

/// The same under the name that applications know this crate by.
macro_rules! log {
    ($($what:tt)+) => { $crate::contained_log!("tenure::store", $($what)+) };
}
