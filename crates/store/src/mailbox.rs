//! The mailbox contract: where messages to leaders wait, and what a store that has one must promise.

pub use tenure_core::messages::{
    Ack, AckOutcome, AckReply, InvalidMessageId, Message, MessageCount, MessageId, MessageState, NewMessage,
    OrderingKey, Receive, Received,
};
pub use tenure_core::store_rules::mailbox::{
    MAX_DEAD_LETTERS, MAX_PAYLOAD, MAX_PENDING, MailboxLimits, MailboxRecord, SendReply, Settlement,
};
pub use tenure_core::{ChannelName, Sender};
use tenure_core::{ElectionName, Namespace};

use super::{ElectionKey, Replies, StoreError, StoreErrorKind, async_trait};

/// Keeps messages until a leader has handled them. Offered by a store through [`Store::mailbox`](super::Store::mailbox).
///
/// # Contract
/// - Messages have an **order** per election: that in which they were accepted, for a batch that of the batch. Whatever
///   is received or listed comes in this order.
/// - **`receive`** and **`ack`** are conditional on nonce *and* term, as a renewal is: only the holder of the
///   lease gets messages and may settle them. Whether the sender is that is decided in the same atomic step.
/// - **Nothing is lost** while the store keeps its data: a message leaves the line only by [`AckOutcome::Done`] or
///   [`AckOutcome::DeadLettered`] of the leader. What was received and not settled is received again, by this leader or the
///   next.
/// - **Repeating** a `send` or an `ack` whose reply was lost changes nothing more.
/// - A payload is kept **byte for byte**; the store does not look into it.
/// - Messages touch nothing else: no lease, no term, no history, no list of elections, and nobody is woken to campaign.
/// - A new message, or one put back in line, is **hinted** to those who watch
///   [`Interest::Messages`](super::Interest::Messages) through the handle whose candidate leads, if the store pushes.
///   As any hint it may be lost, late or wrong.
/// - Futures may be dropped at any time; the write may or may not have happened then.
///
/// The rules are written out in [`MailboxRecord`], for stores that decide in their own process; [`MailboxLimits::admit`] and
/// [`AckOutcome::settle`] are those of one message.
#[async_trait]
pub trait Mailbox: Send + Sync {
    /// The promises of this mailbox, and their limits.
    fn promises(&self) -> MailboxPromises;

    /// Leaves messages for the leader, present or future. One atomic step each, in the order of the batch.
    ///
    /// The same id in the same election is the same message: as long as the first waits or is a dead letter, a second makes
    /// no copy and is no error, not even when there is no room for another.
    ///
    /// A message beyond [`MailboxPromises::max_pending`] is refused with [`StoreErrorKind::Full`], a payload beyond
    /// [`MailboxPromises::max_payload`] with [`StoreErrorKind::TooLarge`]; the others of the batch are not concerned.
    async fn send(&self, batch: &[NewMessage]) -> Replies<()>;

    /// Returns the first messages in line on some channels, and leaves them in line.
    async fn receive(&self, request: &Receive) -> Result<Received, StoreError>;

    /// Records the outcomes of messages: all of them, or none. A message that no longer exists is ignored.
    async fn ack(&self, request: &Ack) -> Result<AckReply, StoreError>;

    /// Lists the first messages in a state, at most `limit`. For administration: needs no lease.
    async fn list(&self, key: &ElectionKey, state: MessageState, limit: usize) -> Result<Vec<Message>, StoreError>;

    /// How many messages there are: in this election, or in each of the namespace, in order of their names. Those in which
    /// none waits or is a dead letter are left out. It is how messages to a name that nobody ever led are found. For people:
    /// it needs no lease. A record that is [damaged](StoreError::damaged) is an error in its place, and hides no other.
    async fn counts(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError>;

    /// Puts dead letters back in line, at its end and in the order in which they are listed, as if they
    /// had never been tried: these, or all of them. Returns how many. It works even when the line is full.
    async fn requeue(&self, key: &ElectionKey, ids: Option<&[MessageId]>) -> Result<u64, StoreError>;
}

/// The promises of a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailboxPromises {
    /// Whether messages wait in the store, and so are handled at least once. Otherwise they reach the leader of this
    /// moment, at most once.
    pub durable: bool,
    /// The largest payload, in bytes.
    pub max_payload: usize,
    /// The number of messages that may wait per election.
    pub max_pending: usize,
    /// The promises of the mailbox and their limits, in one plain sentence.
    pub statement: &'static str,
}

impl MailboxPromises {
    /// The refusal of a payload that is too large for this mailbox, if it is.
    ///
    /// # Errors
    /// When it is.
    pub fn check_payload(&self, payload: &str) -> Result<(), StoreError> {
        if self.limits().fits(payload) { Ok(()) } else { Err(payload_too_large(payload, self.max_payload)) }
    }

    /// The limits as a record of messages applies them.
    #[must_use]
    pub const fn limits(&self) -> MailboxLimits {
        MailboxLimits { max_payload: self.max_payload, max_pending: self.max_pending }
    }

    /// The answer to the sender of this message.
    ///
    /// # Errors
    /// When it was not accepted, and is not known either.
    pub fn answer(&self, new_message: &NewMessage, reply: SendReply) -> Result<(), StoreError> {
        match reply {
            SendReply::Accepted | SendReply::Known => Ok(()),
            SendReply::Full => Err(self.full(&new_message.key)),
            SendReply::TooLarge => Err(payload_too_large(&new_message.payload, self.max_payload)),
        }
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

/// Draws the id of a new message.
///
/// ```
/// use tenure::store::random_message_id;
///
/// assert_ne!(random_message_id(), random_message_id());
/// ```
///
/// # Panics
/// When the kernel has no randomness to give.
#[must_use]
pub fn random_message_id() -> MessageId {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the kernel gives random bytes");
    MessageId::from_bits(u128::from_le_bytes(bytes))
}
