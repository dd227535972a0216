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
    /// The id of these bits. They have to be random: whoever has drawn them before has sent the same message.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// The bits, for a store to keep.
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

/// A message on its way.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// To the leader of which election.
    pub key: ElectionKey,
    /// Which message it is.
    pub id: MessageId,
    /// On which channel.
    pub channel: ChannelName,
    /// From whom.
    pub sender: Sender,
    /// JSON text.
    pub payload: Arc<str>,
}

/// A message in a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Which message it is. Whoever must not do a thing twice remembers it.
    pub id: MessageId,
    /// On which channel it came.
    pub channel: ChannelName,
    /// From whom.
    pub sender: Sender,
    /// JSON text, byte for byte as it was sent.
    pub payload: Arc<str>,
    /// When it was accepted, as the store keeps it: milliseconds since the Unix epoch on the store's wall clock.
    /// [`sent_at`](Self::sent_at) is the time for people.
    pub sent_at_unix_ms: u64,
    /// How many attempts to handle it have failed.
    pub attempts: u32,
    /// Why the last one failed.
    pub last_error: Option<String>,
}

impl Message {
    /// The messages it keeps its order among.
    #[must_use]
    pub fn ordering_key(&self) -> OrderingKey {
        OrderingKey { channel: self.channel.clone(), sender: self.sender.clone() }
    }
}

/// How many messages an election has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageCount {
    /// Which election.
    pub election: ElectionName,
    /// How many wait for its leader.
    pub waiting: u64,
    /// How many are dead letters.
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
    /// In line, for whoever leads.
    Pending,
    /// Given to no leader any more, because too many attempts have failed. They are listed in the order in which that happened.
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
