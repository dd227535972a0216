//! What is particular to the Redis store: servers that refuse, forget, move, and are shared with others.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod broadcasts;
mod cluster;
mod denied;
mod errors;
mod examine;
mod fencing;
mod foreign;
mod interop;
mod ledger;
mod line;
mod lost;
mod messages;
mod persistence;
mod push;
#[path = "../conformance/rights.rs"]
mod rights;
mod sentinel;
mod settings;
mod support;
mod tls;
mod wait_replicas;

use tenure_testkit::{broadcast_listener, store_candidate};
