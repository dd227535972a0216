//! Pub/sub: broadcasts through PUBLISH and SUBSCRIBE.

use futures_util::stream::BoxStream;
use redis::{Value, cmd};
use tenure_store::mailbox::MAX_PAYLOAD;
use tenure_store::pubsub::{Broadcast, PubSub, PubSubEvent, PubSubPromises};
use tenure_store::remote::envelope;
use tenure_store::{ElectionKey, Replies, StoreError, async_trait};

use super::RedisStore;
use super::call::{Call, CallCommand};
use super::deployment::CallAnswer;
use super::error::RedisStoreError;
use super::lease::RedisInner;

const PROMISES: PubSubPromises = PubSubPromises {
    max_payload: MAX_PAYLOAD,
    statement: "Broadcasts use PUBLISH: they reach the candidates that are connected at that moment, at most once; a \
         broadcast that is delayed too long by the server, or sent during a failover, is lost.",
};

#[async_trait]
impl PubSub for RedisStore {
    fn promises(&self) -> PubSubPromises {
        PROMISES
    }

    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()> {
        self.inner.broadcast(batch).await
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        self.inner.listen(key)
    }
}

impl RedisInner {
    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()> {
        let mut calls = Vec::with_capacity(batch.len());
        let judge = |broadcast: &Broadcast| self.publication(broadcast).map(|call| calls.push(call)).err();
        let refusals: Vec<Option<StoreError>> = batch.iter().map(judge).collect();
        let answers = if calls.is_empty() { Vec::new() } else { self.deployment().run(&calls, None).await };
        let mut answers = answers.into_iter();
        let reply = |refusal: Option<StoreError>| match refusal {
            Some(refusal) => Err(refusal),
            None => {
                let answer = answers.next().unwrap_or(Err(RedisStoreError::Silent));
                answer.and_then(|answer| published(&answer)).map_err(|fault| self.tell(fault))
            }
        };
        refusals.into_iter().map(reply).collect()
    }

    /// In a cluster every node forwards it to all others; the lease decides which node is asked, so that order is kept.
    fn publication(&self, broadcast: &Broadcast) -> Result<Call, StoreError> {
        PROMISES.check_payload(&broadcast.payload)?;
        let mut command = cmd("PUBLISH");
        command.arg(self.keys().broadcast_channel(&broadcast.key)?).arg(envelope::seal(broadcast));
        Ok(Call { route: self.keys().lease(&broadcast.key)?, order: CallCommand::Plain(command) })
    }
}

/// Ignores the number of receivers: subscribers of other nodes are not counted.
fn published(answer: &CallAnswer) -> Result<(), RedisStoreError> {
    match &answer.value {
        Value::Int(_) => Ok(()),
        Value::ServerError(error) => Err(RedisStoreError::server(error)),
        other => Err(RedisStoreError::Nonsense(format!("{other:?}"))),
    }
}
