//! What is particular to the Redis store: servers that refuse, forget, move, and are shared with others.
#![cfg(feature = "redis")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod denied;
mod errors;
mod foreign;
mod interop;
mod lost;
#[path = "../conformance_redis/rights.rs"]
mod rights;
mod support;
