//! What the store of advisory locks does beyond the suite that every store passes, on real servers.

mod broadcasts;
mod crashes;
mod hosts;
mod interop;
mod locks;
mod messages;
mod poolers;
mod processes;
mod quiet;
mod servers;
mod stillness;
mod support;
