//! The mailbox contract: where messages to leaders wait, and what a store that has one must promise.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
pub use tenure_core::{ChannelName, Sender};
use tenure_core::{ElectionName, Namespace, Nonce, Term};

use super::{ElectionKey, Replies, StoreError, StoreErrorKind};

/// The largest payload, in bytes of JSON text. A store may keep less: [`MailboxPromises::max_payload`].
pub const MAX_PAYLOAD: usize = 64 * 1024;

/// How many messages may wait per election. A store may keep fewer: [`MailboxPromises::max_pending`].
pub const MAX_PENDING: usize = 10_000;

/// How many messages that were set aside are kept per election. Beyond it the oldest are dropped.
pub const MAX_DEAD_LETTERS: usize = 1_000;

/// Where messages to leaders wait. Offered by a store through [`Store::mailbox`](super::Store::mailbox).
///
/// # Contract
/// - Messages have an **order** per election: that in which they were accepted, for a batch that of the batch. Whatever
///   is received or listed comes in this order.
/// - **`receive`** and **`ack`** are conditional on nonce *and* term, as a renewal is: only whoever holds the lease
///   now is given anything or may say anything. Whether it does is decided in the same atomic step.
/// - **Nothing is lost** while the store keeps its data: a message leaves the line only by [`AckOutcome::Done`] or
///   [`AckOutcome::DeadLettered`] of whoever leads. What was received and not settled is received again, by this leader or the
///   next.
/// - **Repeating** a `send` or an `ack` whose reply was lost changes nothing more.
/// - A payload is kept **byte for byte**; the store does not look into it.
/// - Messages touch nothing else: no lease, no term, no history, no list of elections, and nobody is woken to campaign.
/// - A new message, or one put back in line, is **hinted** to those who watch
///   [`Interest::Messages`](super::Interest::Messages) through the handle whose candidate leads, if the store pushes.
///   As any hint it may be lost, late or wrong.
/// - Futures may be dropped at any time; the write may or may not have happened then.
pub trait Mailbox: Send + Sync {
    /// What this mailbox can promise and what not.
    fn promises(&self) -> MailboxPromises;

    /// Leaves messages for whoever leads, now or later. One atomic step each, in the order of the batch.
    ///
    /// The same id in the same election is the same message: as long as the first waits or lies aside, a second makes no
    /// copy and is no error, not even when there is no room for another.
    ///
    /// A message beyond [`MailboxPromises::max_pending`] is refused with [`StoreErrorKind::Full`], a payload beyond
    /// [`MailboxPromises::max_payload`] with [`StoreErrorKind::TooLarge`]; the others of the batch are not concerned.
    fn send<'a>(&'a self, batch: &'a [NewMessage]) -> BoxFuture<'a, Replies<()>>;

    /// The first messages in line on some channels, without taking them out of it.
    fn receive<'a>(&'a self, request: &'a Receive) -> BoxFuture<'a, Result<Received, StoreError>>;

    /// Says what became of messages: all of it, or nothing. A message that is not there any more is passed over.
    fn ack<'a>(&'a self, request: &'a Ack) -> BoxFuture<'a, Result<AckReply, StoreError>>;

    /// The first messages in a state, at most `limit`. For people: it needs no lease.
    fn list<'a>(
        &'a self,
        key: &'a ElectionKey,
        state: MessageState,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Message>, StoreError>>;

    /// How many messages there are: in this election, or in each of the namespace, in order of their names. Those in which
    /// none waits or lies aside are left out. It is how messages to a name that nobody ever led are found. For people: it
    /// needs no lease. A record that is [damaged](StoreError::damaged) is an error in its place, and hides no other.
    fn counts<'a>(
        &'a self,
        namespace: &'a Namespace,
        only: Option<&'a ElectionName>,
    ) -> BoxFuture<'a, Result<Replies<MessageCount>, StoreError>>;

    /// Puts messages that were set aside back in line, at its end and in the order in which they lie there, as if they
    /// had never been tried: these, or all of them. Returns how many. It works even when the line is full.
    fn requeue<'a>(
        &'a self,
        key: &'a ElectionKey,
        ids: Option<&'a [MessageId]>,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;
}

/// What a mailbox can promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailboxPromises {
    /// Whether messages wait in the store, and so are handled at least once. Otherwise they reach whoever leads this
    /// moment, at most once.
    pub durable: bool,
    /// The largest payload, in bytes.
    pub max_payload: usize,
    /// How many messages may wait per election.
    pub max_pending: usize,
    /// In one plain sentence, what it can and cannot promise.
    pub statement: &'static str,
}

impl MailboxPromises {
    /// The refusal of a payload that is too large for this mailbox, if it is.
    ///
    /// # Errors
    /// When it is.
    pub fn check_payload(&self, payload: &str) -> Result<(), StoreError> {
        if payload.len() <= self.max_payload { Ok(()) } else { Err(payload_too_large(payload, self.max_payload)) }
    }

    /// The refusal of a message for which there is no room.
    #[must_use]
    pub fn full(&self, key: &ElectionKey) -> StoreError {
        let message = format!(
            "{} messages wait for the leader of {key} already and no more are kept; see that a candidate leads and \
             handles them, then send again",
            self.max_pending
        );
        StoreError::refused(StoreErrorKind::Full, message)
    }
}

/// The refusal of a payload beyond a store's limit.
pub(super) fn payload_too_large(payload: &str, max: usize) -> StoreError {
    let bytes = payload.len();
    let message = format!("the message has {bytes} bytes and at most {max} are allowed; send a reference instead");
    StoreError::refused(StoreErrorKind::TooLarge, message)
}

/// Identifies one message for ever: 128 random bits, shown as 32 hexadecimal digits.
///
/// ```
/// use tenure::store::MessageId;
///
/// let id = MessageId::random();
/// assert_eq!(id.to_string().parse(), Ok(id));
/// assert_ne!(id, MessageId::random());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(u128);

impl MessageId {
    /// A new one.
    ///
    /// # Panics
    /// When the kernel has no randomness to give.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the kernel gives random bytes");
        Self(u128::from_le_bytes(bytes))
    }

    /// The id of these bits.
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
    /// When it was accepted: milliseconds since the Unix epoch on the store's wall clock. For people only.
    pub sent_at_unix_ms: u64,
    /// How many attempts to handle it have failed.
    pub attempts: u32,
    /// Why the last one failed.
    pub last_error: Option<String>,
}

/// How many messages an election has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageCount {
    /// Which election.
    pub election: ElectionName,
    /// How many wait for its leader.
    pub waiting: u64,
    /// How many were set aside.
    pub aside: u64,
}

/// Messages that keep their order among each other: those of one sender on one channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderingKey {
    /// The channel.
    pub channel: ChannelName,
    /// The sender.
    pub sender: Sender,
}

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

/// What became of an [`Ack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckReply {
    /// It is written down.
    Accepted {
        /// How many of those set aside earlier were dropped to make room: the oldest beyond [`MAX_DEAD_LETTERS`].
        dropped: u64,
    },
    /// Whoever says it does not hold the lease under this term now; nothing was changed.
    NotHolder,
}

/// Whether a message waits or was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageState {
    /// In line, for whoever leads.
    Pending,
    /// Set aside after too many attempts, in the order in which they were.
    DeadLetter,
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
