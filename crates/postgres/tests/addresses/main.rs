//! Addresses of PostgreSQL servers: whom one believes to be the server, how one logs in, and which of several is used.
//!
//! A program of its own, because one test takes in all that is logged.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod client_certificates;
mod encryption;
mod hosts;
mod login;
mod secrets;
mod support;
