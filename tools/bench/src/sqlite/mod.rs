//! The embedded store.

pub(crate) mod elections;
mod floor;
pub(crate) mod handover;
pub(crate) mod processes;
