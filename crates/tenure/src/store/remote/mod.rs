//! What stores behind a network have in common: one connection that is made again, pushes, and a clock that may jump.

pub(super) mod hub;
pub(super) mod keeper;
pub(super) mod server_clock;
