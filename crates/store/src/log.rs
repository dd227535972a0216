//! Telling the application's subscriber what happens.

/// `tracing::LEVEL!`, whatever becomes of it: a subscriber is code of the application, and one that panics (because the
/// pipe it writes to is closed, say) must end no election.
#[doc(hidden)]
#[macro_export]
macro_rules! log {
    ($level:ident, $($what:tt)+) => {
        // What cannot be told is not told; there is nobody else to tell.
        drop($crate::contain::contain(|| ::tracing::$level!($($what)+)))
    };
}
