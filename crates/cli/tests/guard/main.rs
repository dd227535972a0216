//! The guard as a real process, ending real commands.

// The helpers of tests fail like tests do, but clippy takes only the functions marked as tests for such.
#![allow(clippy::panic, clippy::unwrap_used)]

mod deadlines;
mod departures;
mod escapes;
mod start;
mod support;
mod trees;
