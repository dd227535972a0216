//! What a leader asks of a mailbox, and what it is told.

use std::fmt;

use super::message::{Message, MessageId, OrderingKey};
use crate::id::ChannelName;
use crate::lease::{Nonce, Term};
use crate::request::ElectionKey;

/// Give the leader its messages.
#[derive(Debug, Clone)]
pub struct Receive {
    /// Of which election.
    pub key: ElectionKey,
    /// Owns the lease.
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
    /// Whoever asks does not hold the lease under this term now.
    NotHolder,
}

/// Say what became of messages.
#[derive(Debug, Clone)]
pub struct Ack {
    /// In which election.
    pub key: ElectionKey,
    /// Owns the lease.
    pub nonce: Nonce,
    /// The exact term.
    pub term: Term,
    /// Which messages, and what became of each.
    pub outcomes: Vec<(MessageId, AckOutcome)>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AckOutcome {
    /// It was handled, and is removed.
    Done,
    /// An attempt failed. The message stays where it is in line.
    Failed {
        /// The number of the attempt, which becomes [`Message::attempts`] unless that is higher: told twice, it counts
        /// once.
        attempt: u32,
        /// Why.
        why: String,
    },
    /// The last attempt failed. The message is taken out of the line and kept for people.
    DeadLettered {
        /// The number of the attempt.
        attempt: u32,
        /// Why.
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

/// What became of an [`Ack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckReply {
    /// It is written down.
    Accepted {
        /// How many older dead letters were dropped to make room: the oldest beyond
        /// [`MAX_DEAD_LETTERS`](crate::store_rules::mailbox::MAX_DEAD_LETTERS).
        dropped: u64,
    },
    /// Whoever says it does not hold the lease under this term now; nothing was changed.
    NotHolder,
}
