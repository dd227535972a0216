//! What is particular to the SQLite store: files, processes and the kernel between them.
#![allow(clippy::panic, clippy::unwrap_used, clippy::zombie_processes, reason = "a test that fails panics")]

mod broadcasts;
mod conformance;
mod crash;
mod death;
mod files;
mod handover;
mod ledger;
mod lost;
mod messages;
mod names;
mod roles;
mod strangers;
mod support;

use tenure_testkit::broadcast_listener;
