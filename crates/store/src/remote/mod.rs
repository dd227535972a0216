//! What stores behind a network have in common: how their addresses are written, one connection that is made again,
//! pushes, broadcasts as text, and a clock that may jump.

pub mod cryptography;
pub mod envelope;
pub mod hub;
pub mod keeper;
pub mod server_clock;
pub mod written;
