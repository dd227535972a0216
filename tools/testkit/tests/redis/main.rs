//! Servers that tests start: that they come up, misbehave on demand, and leave nothing behind.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod clock;
mod cluster;
mod encryption;
mod ending;
mod sentinels;
mod server;
mod store;
mod support;
mod valkey;

tenure_testkit::roles! {
    "owner of a server" => ending::own_a_server,
}
