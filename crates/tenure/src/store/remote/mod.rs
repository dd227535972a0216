//! What stores behind a network have in common: how their addresses are written, one connection that is made again,
//! pushes, broadcasts as text, and a clock that may jump.

pub(super) mod cryptography;
pub(super) mod envelope;
pub(super) mod hub;
pub(super) mod keeper;
pub(super) mod server_clock;
pub(super) mod written;
