//! The pub/sub contract: broadcasts to all candidates of an election, and the promises that come with them.

use std::fmt;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use serde::de::DeserializeOwned;
use tenure_core::{ChannelName, Sender};

use super::mailbox::payload_too_large;
use super::{ElectionKey, MessageId, Replies, StoreError, async_trait};

/// Sends broadcasts to all candidates of an election. Offered by a store through [`Store::pubsub`](super::Store::pubsub).
///
/// # Contract
/// - A broadcast reaches **everybody who listens** to its election when it is made, through whichever handle, that of the
///   sender included. Nobody else hears of it: nothing is kept for those who come later or are cut off. Only what is
///   still on its way may reach a listener that has come meanwhile.
/// - It is heard **at most once** by each of them. It may be lost, whatever `broadcast` has answered.
/// - Broadcasts of one batch, and those that one sender makes one after the other through one handle, are heard **in
///   order**, as far as they are heard.
/// - A payload is passed on **byte for byte**; the store does not look into it.
/// - Broadcasts touch nothing else: no lease, no term, no history, no list of elections, no message, and nobody is woken to
///   campaign. Listening is not standing by.
/// - Futures may be dropped at any time; the broadcast may or may not have been made then.
#[async_trait]
pub trait PubSub: Send + Sync {
    /// The promises of this store, and their limits.
    fn promises(&self) -> PubSubPromises;

    /// Sends broadcasts to all listeners, in the order of the batch. Having no listener is not an error.
    ///
    /// A payload beyond [`PubSubPromises::max_payload`] is refused with
    /// [`StoreErrorKind::TooLarge`](super::StoreErrorKind::TooLarge); the others of the batch are not concerned.
    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()>;

    /// Streams the broadcasts to an election, starting with [`PubSubEvent::Listening`]. The stream never ends, but
    /// falls silent once the handle is gone; connection errors are retried in the background, and `Listening` is
    /// repeated after each. Must be called on a runtime.
    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent>;
}

/// The capabilities of a store's pub/sub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PubSubPromises {
    /// The largest payload, in bytes.
    pub max_payload: usize,
    /// The promises of the store and their limits, in one plain sentence.
    pub statement: &'static str,
}

impl PubSubPromises {
    /// Returns the error for a payload that is too large for this store, if it is.
    ///
    /// # Errors
    /// When it is.
    pub fn check_payload(&self, payload: &str) -> Result<(), StoreError> {
        if payload.len() <= self.max_payload { Ok(()) } else { Err(payload_too_large(payload, self.max_payload)) }
    }
}

/// A broadcast to all candidates of an election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broadcast {
    /// The election, whose candidates are to get it.
    pub key: ElectionKey,
    /// The id of the broadcast, for matching sent and received ones.
    pub id: MessageId,
    /// The channel.
    pub channel: ChannelName,
    /// The sender.
    pub sender: Sender,
    /// The payload: JSON, byte for byte as sent.
    pub payload: Arc<str>,
}

impl Broadcast {
    /// Parses the payload.
    ///
    /// # Errors
    /// When it is not a `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.payload)
    }
}

/// An item of the stream of a [listener](PubSub::listen).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PubSubEvent {
    /// Broadcasts are received from now on. Earlier ones may have been missed.
    Listening,
    /// A broadcast was received.
    Broadcast(Broadcast),
    /// The listener was too slow: this many broadcasts were dropped here.
    Missed(u64),
    /// No broadcasts are received for now, for this reason.
    Interrupted(StoreError),
}

impl fmt::Display for PubSubEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening => f.write_str("listening"),
            Self::Broadcast(broadcast) => {
                write!(f, "broadcast {} on {} from {}", broadcast.id, broadcast.channel, broadcast.sender)
            }
            Self::Missed(count) => write!(f, "missed {count} broadcasts"),
            Self::Interrupted(error) => write!(f, "not listening: {error}"),
        }
    }
}
