//! The deterministic elector of `tenure`: no clock, no I/O, no randomness, no async.

mod time;

pub use time::Instant;
