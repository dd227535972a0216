//! What the store of advisory locks does beyond the suite that every store passes, on real servers.
#![cfg(feature = "postgres")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod crashes;
mod interop;
mod locks;
mod poolers;
mod quiet;
mod servers;
mod stillness;
mod support;
