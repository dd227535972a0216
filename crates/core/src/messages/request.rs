//! Requests of a leader to a mailbox, and the replies.

use std::fmt;

use super::message::{Message, MessageId, OrderingKey};
use crate::id::ChannelName;
use crate::lease::{Nonce, Term};
use crate::request::ElectionKey;

/// Asks for the messages to the leader.
#[derive(Debug, Clone)]
pub struct Receive {
    /// The election.
    pub key: ElectionKey,
    /// The nonce that owns the lease.
    pub nonce: Nonce,
    /// The exact term.
    pub term: Term,
    /// On which channels.
    pub channels: Vec<ChannelName>,
    /// But not in these lines: their first messages are at work already, or wait for another attempt, and the later ones
    /// wait behind them.
    pub except: Vec<OrderingKey>,
    /// How many at most.
    pub limit: usize,
}

/// What became of a [`Receive`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// The first ones in line.
    Messages(Vec<Message>),
    /// The sender does not hold the lease under this term now.
    NotHolder,
}

/// Reports the outcomes of messages.
#[derive(Debug, Clone)]
pub struct Ack {
    /// The election.
    pub key: ElectionKey,
    /// The nonce that owns the lease.
    pub nonce: Nonce,
    /// The exact term.
    pub term: Term,
    /// The messages, each with its outcome.
    pub outcomes: Vec<(MessageId, AckOutcome)>,
}

/// The outcome of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AckOutcome {
    /// It was handled, and is removed.
    Done,
    /// An attempt failed. The message stays where it is in line.
    Failed {
        /// The number of the attempt, which becomes [`Message::attempts`] unless that is higher: told twice, it counts
        /// once.
        attempt: u32,
        /// The reason.
        why: String,
    },
    /// The last attempt failed. The message is taken out of the line and kept for people.
    DeadLettered {
        /// The number of the attempt.
        attempt: u32,
        /// The reason.
        why: String,
    },
}

impl fmt::Display for AckOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("handled"),
            Self::Failed { attempt, why } => write!(f, "attempt {attempt} failed: {why}"),
            Self::DeadLettered { attempt, why } => write!(f, "a dead letter after attempt {attempt}: {why}"),
        }
    }
}

/// The reply to an [`Ack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckReply {
    /// The outcomes are recorded.
    Accepted {
        /// How many older dead letters were dropped to make room: the oldest beyond
        /// [`MAX_DEAD_LETTERS`](crate::store_rules::mailbox::MAX_DEAD_LETTERS).
        dropped: u64,
    },
    /// The sender does not hold the lease under this term now; nothing was changed.
    NotHolder,
}
