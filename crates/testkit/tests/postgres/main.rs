//! Servers that tests start: that they come up, misbehave on demand, and leave nothing behind.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod server;
