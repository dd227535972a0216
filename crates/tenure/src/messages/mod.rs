//! Messages to the leader: sending them, handing them to the application, and settling them.

mod delivery;
mod handler;
mod hints;
mod inbox;
mod pump;
mod send;

pub use self::delivery::{Channel, Delivery};
pub(crate) use self::handler::MessageHandler;
pub(crate) use self::hints::MessageHints;
pub(crate) use self::inbox::Inbox;
pub(crate) use self::pump::MessageCompanion;
pub(crate) use self::send::{SENDING_LIMIT, checked_json, mailbox, send_until_known, written_json};
