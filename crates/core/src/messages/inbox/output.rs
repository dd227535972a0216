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
    /// Ask the mailbox. There is one call at a time: this one replaces any call before it.
    Call {
        /// What its answer is given back under.
        id: MailboxCallId,
        /// What is asked.
        call: MailboxCall,
    },
    /// Wake the readers of a channel: there is something to [take](super::InboxInput::Take).
    Ready {
        /// Which channel.
        channel: ChannelName,
    },
    /// The message that a reader wanted to take. It keeps the lease from being released until it is
    /// [handled](super::InboxInput::Handled).
    Deliver(Message),
    /// Keep the lease of this term from being released, as work does. Something was just handled that has kept it so far.
    Hold {
        /// Which term.
        term: Term,
    },
    /// Stop keeping it.
    Release {
        /// Which term.
        term: Term,
    },
    /// Report an anomaly to people.
    Report(InboxAnomaly),
    /// The mailbox says that another candidate holds the lease. The elector finds out whether that is so.
    Hint,
    /// Nothing more for now. Call again then, if ever, with [`InboxInput::Timeout`](super::InboxInput::Timeout).
    Timeout(Option<Instant>),
}

/// Identifies a call, for one inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailboxCallId(pub u64);

/// A call to a mailbox.
#[derive(Debug, Clone)]
pub enum MailboxCall {
    /// Fetch the messages of the leader.
    Receive(Receive),
    /// Report the outcomes of messages.
    Ack(Ack),
}

/// An anomaly that people should know of.
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
