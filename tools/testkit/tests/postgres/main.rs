//! Servers that tests start: that they come up, misbehave on demand, and leave nothing behind.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod bouncer;
mod clock;
mod encryption;
mod ending;
mod messages;
mod server;
mod standby;
mod store;

tenure_testkit::roles! {
    "owner of a server" => ending::own_a_server,
    "owner of a server that stands still" => ending::own_a_paused_server,
}
