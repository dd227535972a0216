//! What is particular to the stores in PostgreSQL: schema and rights; servers that refuse, fail over and are pooled;
//! elections that are shared with others; fences; and what advisory locks do beyond the suite.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod advisory;
mod broadcasts;
mod errors;
mod failover;
mod fencing;
mod hosts;
mod interop;
mod ledger;
mod line;
mod lost;
mod migration;
mod persistence;
mod planted;
mod pooler;
mod recipe;
mod rights;
mod support;
mod takeover;
mod view;

use tenure_testkit::{broadcast_listener, store_candidate};
