//! What stores behind a network have in common: how their addresses are written, one connection that is made again,
//! pushes, broadcasts as text, a clock that may jump, and a first look at the server.

pub mod cryptography;
pub mod envelope;
pub mod first_examination;
pub mod push_hub;
pub mod raw_url;
pub mod reconnecting;
pub mod server_clock;
