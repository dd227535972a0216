//! A message: what it is called, what it says, and among which others it keeps its order.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::id::{ChannelName, ElectionName, Sender};
use crate::request::ElectionKey;

/// Identifies one message for ever: 128 random bits, shown as 32 hexadecimal digits.
///
/// ```
/// use tenure_core::messages::MessageId;
///
/// let id = MessageId::from_bits(0xff);
/// assert_eq!(id.to_string().parse(), Ok(id));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(u128);

impl MessageId {
    /// Creates an id from these bits. They have to be random: the same bits mean the same message.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// Returns the bits, for a store to keep.
    #[must_use]
    pub const fn to_bits(self) -> u128 {
        self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageId({self})")
    }
}

impl FromStr for MessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, InvalidMessageId> {
        let is_valid = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = u128::from_str_radix(text, 16).ok().filter(|_| is_valid);
        bits.map(Self).ok_or(InvalidMessageId)
    }
}

/// A text that is not the id of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the id of a message has 32 hexadecimal digits; `tenure messages NAME` shows those that wait")]
pub struct InvalidMessageId;

/// A message to be sent.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// The election, whose leader is to get it.
    pub key: ElectionKey,
    /// The id of the message.
    pub id: MessageId,
    /// The channel.
    pub channel: ChannelName,
    /// The sender.
    pub sender: Sender,
    /// The payload: JSON text.
    pub payload: Arc<str>,
}

/// A message in a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The id of the message. A handler that must not act twice remembers it.
    pub id: MessageId,
    /// The channel.
    pub channel: ChannelName,
    /// The sender.
    pub sender: Sender,
    /// The payload: JSON text, byte for byte as it was sent.
    pub payload: Arc<str>,
    /// When it was accepted, as the store keeps it: milliseconds since the Unix epoch on the store's wall clock.
    /// [`sent_at`](Self::sent_at) is the time for people.
    pub sent_at_unix_ms: u64,
    /// The number of failed attempts to handle it.
    pub attempts: u32,
    /// The reason why the last attempt failed.
    pub last_error: Option<String>,
}

impl Message {
    /// Returns the key of the messages among which this one keeps its order.
    #[must_use]
    pub fn ordering_key(&self) -> OrderingKey {
        OrderingKey { channel: self.channel.clone(), sender: self.sender.clone() }
    }
}

/// The number of messages of an election.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageCount {
    /// The election.
    pub election: ElectionName,
    /// The number of messages that wait for its leader.
    pub waiting: u64,
    /// The number of dead letters.
    pub dead_letters: u64,
}

impl MessageCount {
    /// What a store has counted.
    #[must_use]
    pub fn new(election: ElectionName, waiting: u64, dead_letters: u64) -> Self {
        Self { election, waiting, dead_letters }
    }
}

/// Messages that keep their order among each other: those of one sender on one channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderingKey {
    /// The channel.
    pub channel: ChannelName,
    /// The sender.
    pub sender: Sender,
}

/// Whether a message waits or is a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageState {
    /// The message waits in line for the leader, present or future.
    Pending,
    /// The message is no longer given to a leader, because too many attempts have failed. Dead letters are listed in the order
    /// in which they became that.
    DeadLetter,
}

impl fmt::Display for MessageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::DeadLetter => "dead letter",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_thirty_two_digits_and_nothing_else() {
        let id = MessageId::from_bits(0xff);
        assert_eq!(id.to_string(), "000000000000000000000000000000ff");
        assert_eq!("000000000000000000000000000000FF".parse(), Ok(id));
        for wrong in ["", "ff", "+00000000000000000000000000000ff", "g0000000000000000000000000000000", &"0".repeat(33)]
        {
            assert_eq!(wrong.parse::<MessageId>(), Err(InvalidMessageId), "{wrong}");
        }
    }
}
