//! Broadcasts to all candidates of an election: making them, and handing them to the application.

mod board;
mod handler;
mod pump;
mod reader;
mod send;

pub(crate) use self::board::Board;
pub(crate) use self::handler::Handler;
pub(crate) use self::pump::run as pump;
pub use self::reader::Broadcasts;
