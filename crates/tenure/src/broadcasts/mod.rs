//! Broadcasts to all candidates of an election: sending them, and delivering them to the application.

mod handler;
mod pump;
mod queues;
mod reader;
mod send;

pub(crate) use self::handler::BroadcastHandler;
pub(crate) use self::pump::BroadcastCompanion;
pub(crate) use self::queues::BroadcastQueues;
pub use self::reader::Broadcasts;
