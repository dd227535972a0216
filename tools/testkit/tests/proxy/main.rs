//! Each fault of the proxy bites, and heals, between real sockets.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod connections;
mod delivery;
mod loss;
mod support;
