//! Everything that can happen to an inbox.

use super::output::MailboxCallId;
use crate::election::input::WriteOutcome;
use crate::election::timing::Timing;
use crate::id::ChannelName;
use crate::lease::{Nonce, Term};
use crate::messages::message::{MessageId, OrderingKey};
use crate::messages::request::{AckReply, Received};
use crate::time::Instant;

/// An event for an inbox. Pass it to [`LeaderInbox::handle`](super::LeaderInbox::handle).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum InboxInput {
    /// The time of the last [`InboxOutput::Timeout`](super::InboxOutput::Timeout) has come.
    Timeout,
    /// A reader of a channel has come.
    Opened {
        /// Which one.
        channel: ChannelName,
    },
    /// A reader of a channel has gone.
    Closed {
        /// Which one.
        channel: ChannelName,
    },
    /// Leadership has begun.
    Elected {
        /// Owns the lease.
        nonce: Nonce,
        /// The new term.
        term: Term,
        /// The timing of its candidate.
        timing: Timing,
    },
    /// The work of the leadership has had its time, or none was left and the lease is released.
    Over,
    /// The mailbox may have more.
    Hint,
    /// A reader wants the next message on a channel. If there is one, it is
    /// [delivered](super::InboxOutput::Deliver) before anything else.
    Take {
        /// On which one.
        channel: ChannelName,
    },
    /// A reader has finished with a message that was delivered.
    Handled {
        /// Under which term it was delivered.
        term: Term,
        /// The messages it keeps its order among.
        line: OrderingKey,
        /// Which one it is.
        id: MessageId,
        /// What was done.
        outcome: HandlingOutcome,
    },
    /// The mailbox has answered a call.
    Reply {
        /// Which one.
        call: MailboxCallId,
        /// What came back.
        reply: MailboxReply,
    },
}

/// The present, as the caller of [`LeaderInbox::handle`](super::LeaderInbox::handle) sees it, and randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxMoment {
    /// On the candidate's own clock. It never goes back.
    pub now: Instant,
    /// The term under which work may begin at this very moment.
    pub leads: Option<Term>,
    /// Used to spread what is tried again: 0 means the earliest, `u32::MAX` the latest.
    pub spread: u32,
    /// Whether the store tells of new messages. That may turn out late.
    pub pushes: bool,
}

/// The outcome of handling a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandlingOutcome {
    /// It was handled.
    Done,
    /// It could not be handled, for this reason.
    Failed(String),
    /// Not finished, because the leadership ended: the next leader gets it, and nothing counts as an attempt.
    Interrupted,
}

/// The reply of a mailbox to a call, or the outcome of a call without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailboxReply {
    /// To [`MailboxCall::Receive`](super::MailboxCall::Receive).
    Received(Result<Received, WriteOutcome>),
    /// To [`MailboxCall::Ack`](super::MailboxCall::Ack).
    Acked(Result<AckReply, WriteOutcome>),
}
