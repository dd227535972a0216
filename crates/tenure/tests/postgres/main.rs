//! What is particular to the PostgreSQL store: its schema and rights, servers that refuse, fail over and are pooled, and
//! elections that are shared with others.
#![cfg(feature = "postgres")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod broadcasts;
mod errors;
mod failover;
mod hosts;
mod interop;
mod ledger;
mod line;
mod migration;
mod persistence;
mod planted;
mod pooler;
mod recipe;
mod rights;
mod support;
mod takeover;
mod view;

use tenure_testkit::{hearing, stander};
