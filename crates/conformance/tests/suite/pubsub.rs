//! Bends broadcasts on their way to and from the reference store.

use std::sync::Arc;

use tenure::store::stream::{self, BoxStream, StreamExt};
use tenure::store::{
    Broadcast, ElectionKey, PubSub, PubSubEvent, PubSubPromises, Replies, StoreErrorKind, async_trait,
};
use tenure::{MessageId, Sender, StoreError};

use crate::flaw::Flaw;
use crate::flawed::Flawed;

impl Flawed {
    async fn broadcast_one(&self, broadcast: &Broadcast) -> Result<(), StoreError> {
        let mut broadcast = Broadcast { key: self.bend_topic(&broadcast.key), ..broadcast.clone() };
        match self.flaw() {
            Some(Flaw::BroadcastsMakeElections) => self.hold_an_election(&broadcast.key).await,
            Some(Flaw::BroadcastsEndLeadership) => self.evict(&broadcast.key).await,
            Some(Flaw::NeedsListeners) if self.said.lock().unwrap().1 == 0 => {
                return Err(StoreError::refused(StoreErrorKind::Other, "nobody listens"));
            }
            Some(Flaw::SameBroadcastsBecomeOne) if self.was_just_said(&broadcast) => return Ok(()),
            Some(Flaw::BroadcastsAreReformatted) => {
                let value: Option<serde_json::Value> = serde_json::from_str(&broadcast.payload).ok();
                broadcast.payload = value.map_or(Arc::clone(&broadcast.payload), |value| value.to_string().into());
            }
            Some(Flaw::LargeBroadcastsAreCut) => {
                let kept = broadcast.payload.len().min(PubSub::promises(self).max_payload);
                broadcast.payload = broadcast.payload[..kept].into();
            }
            Some(Flaw::BroadcastsForgetTheirSender) => broadcast.sender = Sender::new("somebody").unwrap(),
            Some(Flaw::BroadcastIdsCutTo64Bits) => {
                broadcast.id = MessageId::from_bits(broadcast.id.to_bits() & u128::from(u64::MAX));
            }
            Some(Flaw::BroadcastsTwice) => drop(self.inner.broadcast(std::slice::from_ref(&broadcast)).await),
            Some(_) | None => {}
        }
        self.said.lock().unwrap().0.push(broadcast.clone());
        self.inner.broadcast(&[broadcast]).await.remove(0)
    }

    fn was_just_said(&self, broadcast: &Broadcast) -> bool {
        let said = self.said.lock().unwrap();
        said.0.last().is_some_and(|last| (&last.channel, &last.payload) == (&broadcast.channel, &broadcast.payload))
    }

    fn bend_topic(&self, key: &ElectionKey) -> ElectionKey {
        match self.flaw() {
            Some(Flaw::BroadcastsReachAllElections) => {
                ElectionKey { namespace: key.namespace.clone(), name: "all".parse().unwrap() }
            }
            Some(_) | None => self.bend_key(key),
        }
    }
}

#[async_trait]
impl PubSub for Flawed {
    fn promises(&self) -> PubSubPromises {
        PubSub::promises(&self.inner)
    }

    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()> {
        let mut batch: Vec<&Broadcast> = batch.iter().collect();
        if self.has(Flaw::BroadcastsOutOfOrder) {
            batch.reverse();
        }
        stream::iter(batch).then(|broadcast| self.broadcast_one(broadcast)).collect().await
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        let key = self.bend_topic(key);
        let heard = self.inner.listen(&key);
        let mut said = self.said.lock().unwrap();
        said.1 += 1;
        match self.flaw() {
            Some(Flaw::BroadcastsReachOneListener) if said.1 > 1 => {
                stream::iter([PubSubEvent::Listening]).chain(stream::pending()).boxed()
            }
            Some(Flaw::BroadcastsAreKept) => {
                let earlier: Vec<PubSubEvent> = said.0.iter().cloned().map(PubSubEvent::Broadcast).collect();
                stream::iter([PubSubEvent::Listening]).chain(stream::iter(earlier)).chain(heard.skip(1)).boxed()
            }
            Some(_) | None => heard,
        }
    }
}
