//! Everything that an inbox wants done.

use crate::id::ChannelName;
use crate::lease::Term;
use crate::messages::message::{Message, MessageId};
use crate::messages::request::{Ack, Receive};
use crate::time::Instant;

/// One thing to do. Get it from [`LeaderInbox::poll_output`](super::LeaderInbox::poll_output).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum InboxOutput {
    /// Ask the mailbox. There is one call at a time: whatever was asked before is not waited for any more.
    Call {
        /// What its answer is given back under.
        id: MailboxCallId,
        /// What is asked.
        call: MailboxCall,
    },
    /// Wake those who read a channel: there is something to [take](super::InboxInput::Take).
    Ready {
        /// Which channel.
        channel: ChannelName,
    },
    /// The message that somebody wanted to take. It keeps the lease from being released until it is
    /// [handled](super::InboxInput::Handled).
    Deliver(Message),
    /// Keep the lease of this term from being released, as work does. Something was just handled that has kept it so far.
    Hold {
        /// Which term.
        term: Term,
    },
    /// Do not keep it any longer.
    Release {
        /// Which term.
        term: Term,
    },
    /// Tell people.
    Report(InboxAnomaly),
    /// The mailbox says that somebody else holds the lease. The elector finds out whether it is so.
    Hint,
    /// Nothing more for now. Call again then, if ever, with [`InboxInput::Timeout`](super::InboxInput::Timeout).
    Timeout(Option<Instant>),
}

/// Identifies a call, for one inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailboxCallId(pub u64);

/// What is asked of a mailbox.
#[derive(Debug, Clone)]
pub enum MailboxCall {
    /// Give the leader its messages.
    Receive(Receive),
    /// Say what became of messages.
    Ack(Ack),
}

/// Something that people should know of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InboxAnomaly {
    /// A call was not answered in time.
    Unanswered,
    /// A message became a dead letter after too many attempts.
    DeadLettered {
        /// On which channel it came.
        channel: ChannelName,
        /// Which one it is.
        id: MessageId,
        /// How many attempts have failed.
        attempts: u32,
        /// Why the last one did.
        why: String,
    },
    /// So many older dead letters were dropped to make room.
    DeadLettersDropped {
        /// How many.
        count: u64,
    },
}
