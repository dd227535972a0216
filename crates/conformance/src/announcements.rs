//! Sending and receiving broadcasts in tests.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use tenure_core::Sender;
use tenure_store::{Broadcast, PubSub, PubSubEvent, random_message_id};

use super::correspondence::{CHANNEL, channel};
use super::player::{Player, all};

/// Somebody who listens to an election.
pub(super) struct TestListener(BoxStream<'static, PubSubEvent>);

/// How long something that must be heard is waited for. Far more than a push takes.
const HEARD_WITHIN: Duration = Duration::from_secs(20);

impl Player {
    pub(super) fn pubsub(&self) -> &dyn PubSub {
        self.store.pubsub().expect("a store whose test program says that it can broadcast offers PubSub")
    }

    /// A new broadcast on the usual channel, from this candidate.
    pub(super) fn announces(&self, payload: &str) -> Broadcast {
        self.announces_on(CHANNEL, payload)
    }

    pub(super) fn announces_on(&self, name: &str, payload: &str) -> Broadcast {
        Broadcast {
            key: self.key.clone(),
            id: random_message_id(),
            channel: channel(name),
            sender: Sender::from(self.candidate.clone()),
            payload: Arc::from(payload),
        }
    }

    /// Broadcasts all of these, none of which may be refused.
    pub(super) async fn proclaims(&self, batch: &[Broadcast]) {
        assert_eq!(all(self.pubsub().broadcast(batch).await).len(), batch.len(), "one answer per broadcast");
    }

    /// Broadcasts one thing on the usual channel.
    pub(super) async fn tells_all(&self, payload: &str) -> Broadcast {
        let broadcast = self.announces(payload);
        self.proclaims(std::slice::from_ref(&broadcast)).await;
        broadcast
    }

    /// Begins to listen to its election, and returns when it does.
    pub(super) async fn listens(&self) -> TestListener {
        let mut listener = TestListener(self.pubsub().listen(&self.key));
        match listener.heard().await {
            PubSubEvent::Listening => listener,
            other => panic!("listening begins with a word that it does: {other:?}"),
        }
    }
}

impl TestListener {
    /// The next broadcast.
    pub(super) async fn hears(&mut self) -> Broadcast {
        loop {
            match self.heard().await {
                PubSubEvent::Broadcast(broadcast) => return broadcast,
                // A connection may have been made again.
                PubSubEvent::Listening => {}
                other => panic!("something should have been heard: {other:?}"),
            }
        }
    }

    /// The next so many broadcasts.
    pub(super) async fn hears_many(&mut self, count: usize) -> Vec<Broadcast> {
        let mut heard = Vec::with_capacity(count);
        while heard.len() < count {
            heard.push(self.hears().await);
        }
        heard
    }

    /// Hears something now, and nothing else before it.
    pub(super) async fn hears_only(&mut self, speaker: &Player) {
        let last = speaker.tells_all("\"the last word\"").await;
        assert_eq!(self.hears().await, last, "nothing else was said to this listener");
    }

    async fn heard(&mut self) -> PubSubEvent {
        let next = tokio::time::timeout(HEARD_WITHIN, self.0.next()).await;
        next.expect("something should have been heard by now").expect("a stream of broadcasts never ends")
    }
}
