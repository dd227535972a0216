//! Messages to the leader, as pure functions.
//!
//! A message waits in a [mailbox](crate::store_rules::mailbox::MailboxRecord) that the store keeps, until the leader has
//! reported its outcome. A leader [receives](Receive) messages without taking them out, hands them to the application, one of
//! a [line](OrderingKey) at a time, and [tells](Ack) the mailbox. A message without a reported outcome when a leadership ends is received by
//! the next leader: at least once, and in order. The leader's side is one machine, the [`LeaderInbox`]: feed it [`InboxInput`]s
//! with the time, and carry out its [`InboxOutput`]s.
//!
//! ```diagram
//! sender --send--> mailbox --receive--> inbox --deliver--> handler
//!                     ^                   |  <--handled--
//!                     '-------- ack ------'
//! ```

mod inbox;
mod message;
mod mutant;
mod request;

pub use self::inbox::{
    HandlingOutcome, InboxAnomaly, InboxInput, InboxLimits, InboxMoment, InboxOutput, LeaderInbox, MailboxCall,
    MailboxCallId, MailboxReply,
};
pub use self::message::{InvalidMessageId, Message, MessageCount, MessageId, MessageState, NewMessage, OrderingKey};
#[cfg(mutants)]
pub use self::mutant::InboxMutant;
pub use self::request::{Ack, AckOutcome, AckReply, Receive, Received};
