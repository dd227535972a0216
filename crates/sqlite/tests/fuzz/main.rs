//! Files of every kind: an error or a valid answer, and never a panic.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod database;
mod sqlite_file;
mod sqlite_values;
