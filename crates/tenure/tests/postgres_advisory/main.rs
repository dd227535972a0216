//! What the store of advisory locks does beyond the suite that every store passes, on real servers.
#![cfg(feature = "postgres")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod broadcasts;
mod crashes;
#[path = "../hearing/mod.rs"]
mod hearing;
mod hosts;
mod interop;
mod locks;
mod messages;
mod poolers;
mod processes;
mod quiet;
mod servers;
#[path = "../stander/mod.rs"]
mod stander;
mod stillness;
mod support;
