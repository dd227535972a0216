//! What is particular to the SQLite store: files, processes and the kernel between them.
#![cfg(feature = "sqlite")]
#![allow(clippy::panic, clippy::unwrap_used, clippy::zombie_processes, reason = "a test that fails panics")]

mod crash;
mod death;
mod files;
mod handover;
mod ledger;
mod messages;
mod roles;
mod support;
