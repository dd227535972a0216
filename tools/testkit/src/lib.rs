//! What tests of tenure need to be unkind: real processes and stores, signals, and a bad network.

#![allow(
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "all of this is a part of tests, and fails as tests do"
)]

pub mod bound;
pub mod broadcast_listener;
pub mod candidate;
pub mod cases;
pub mod certificates;
pub mod lines;
pub mod netns;
mod percent;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod promtool;
pub mod proxy;
pub mod redis;
pub mod register;
pub mod role;
pub mod rules;
pub mod running;
pub mod running_store;
pub mod scenario;
pub mod scratch;
mod service_dir;
pub mod store_candidate;
pub mod stores;
pub mod test_timing;
pub mod tied_processes;
pub mod wall_clock;
pub mod worker;

use std::thread;
use std::time::{Duration, Instant};

/// How long to wait for what should happen at once, or after one ttl, on a machine that is busy.
pub const PATIENCE: Duration = Duration::from_secs(25);

/// Waits for what nothing tells of.
pub fn eventually(what: &str, holds: impl FnMut() -> bool) {
    eventually_within(PATIENCE, what, holds);
}

/// Waits so long for what nothing tells of.
pub fn eventually_within(limit: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < deadline, "waited for {what}");
        // Waits because nothing signals what is asked here.
        thread::sleep(Duration::from_millis(1));
    }
}
