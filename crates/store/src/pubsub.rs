//! The pub/sub contract: how all candidates of an election are told something, and what a store that can do it promises.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde::de::DeserializeOwned;
use tenure_core::{ChannelName, Sender};

use super::mailbox::payload_too_large;
use super::{ElectionKey, MessageId, Replies, StoreError};

/// Tells all candidates of an election something. Offered by a store through [`Store::pubsub`](super::Store::pubsub).
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
pub trait PubSub: Send + Sync {
    /// What this store can promise and what not.
    fn promises(&self) -> PubSubPromises;

    /// Tells everybody who listens, in the order of the batch. That nobody does is no error.
    ///
    /// A payload beyond [`PubSubPromises::max_payload`] is refused with
    /// [`StoreErrorKind::TooLarge`](super::StoreErrorKind::TooLarge); the others of the batch are not concerned.
    fn broadcast<'a>(&'a self, batch: &'a [Broadcast]) -> BoxFuture<'a, Replies<()>>;

    /// What is broadcast to an election, from [`PubSubEvent::Listening`] on. The stream never ends, but is silent
    /// once the handle is gone; errors of the connection behind it are healed, and each time `Listening` comes again. Must be
    /// called on a runtime.
    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent>;
}

/// What pub/sub of a store can promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PubSubPromises {
    /// The largest payload, in bytes.
    pub max_payload: usize,
    /// In one plain sentence, what it can and cannot promise.
    pub statement: &'static str,
}

impl PubSubPromises {
    /// The refusal of a payload that is too large for this store, if it is.
    ///
    /// # Errors
    /// When it is.
    pub fn check_payload(&self, payload: &str) -> Result<(), StoreError> {
        if payload.len() <= self.max_payload { Ok(()) } else { Err(payload_too_large(payload, self.max_payload)) }
    }
}

/// Something that all candidates of an election are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broadcast {
    /// The candidates of which election.
    pub key: ElectionKey,
    /// Which broadcast it is, so that what was sent and what was heard can be told to be the same.
    pub id: MessageId,
    /// On which channel.
    pub channel: ChannelName,
    /// From whom.
    pub sender: Sender,
    /// JSON text, byte for byte as it was sent.
    pub payload: Arc<str>,
}

impl Broadcast {
    /// The payload, read.
    ///
    /// # Errors
    /// When it is something else than `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.payload)
    }
}

/// What somebody who [listens](PubSub::listen) hears.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PubSubEvent {
    /// What is broadcast from now on is heard. What was broadcast before may have been missed.
    Listening,
    /// Somebody has said something.
    Broadcast(Broadcast),
    /// The listener was too slow: so many broadcasts were dropped here.
    Missed(u64),
    /// Nothing is heard for now, and this is why.
    Deaf(StoreError),
}
