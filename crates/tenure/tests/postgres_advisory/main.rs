//! What the store of advisory locks does beyond the suite that every store passes, on real servers.
#![cfg(feature = "postgres")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod broadcasts;
mod crashes;
mod hosts;
mod interop;
mod locks;
mod messages;
mod poolers;
mod processes;
mod quiet;
mod servers;
mod stillness;
mod support;

use tenure_testkit::{hearing, stander};
