//! The mailbox: messages to leaders, as stored on the servers.

use std::collections::VecDeque;

use tenure_store::mailbox::{
    Ack, AckReply, MAX_PAYLOAD, MAX_PENDING, Mailbox, MailboxPromises, Message, MessageCount, MessageId, MessageState,
    NewMessage, Receive, Received,
};
use tenure_store::{ElectionKey, ElectionName, Namespace, Replies, StoreError, async_trait};

use super::RedisStore;
use super::deployment::Deployment;
use super::error::RedisStoreError;
use super::index::List;
use super::lease::{RedisInner, VerbReply};
use super::mailbox_verbs::{AckVerb, Counting, ListMessagesVerb, ReceiveVerb, RequeueVerb, SendVerb};
use super::sentinel::Opinion;

#[async_trait]
impl Mailbox for RedisStore {
    fn promises(&self) -> MailboxPromises {
        promises(self.inner.deployment())
    }

    async fn send(&self, batch: &[NewMessage]) -> Replies<()> {
        self.inner.send(batch).await
    }

    async fn receive(&self, request: &Receive) -> Result<Received, StoreError> {
        let found = self.inner.ask_one(&ReceiveVerb { wake: self.inner.wake_channel() }, request).await?;
        Ok(found.map_or(Received::NotHolder, Received::Messages))
    }

    async fn ack(&self, request: &Ack) -> Result<AckReply, StoreError> {
        let Some(dropped) = self.inner.ask_one(&AckVerb, request).await? else { return Ok(AckReply::NotHolder) };
        for id in &dropped {
            log!(warn, %id, election = %request.key, "dropped a dead letter: there are too many");
        }
        Ok(AckReply::Accepted { dropped: dropped.len() as u64 })
    }

    async fn list(&self, key: &ElectionKey, state: MessageState, limit: usize) -> Result<Vec<Message>, StoreError> {
        self.inner.ask_one(&ListMessagesVerb { state, limit }, key).await
    }

    async fn counts(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError> {
        self.inner.message_counts(namespace, only).await
    }

    async fn requeue(&self, key: &ElectionKey, ids: Option<&[MessageId]>) -> Result<u64, StoreError> {
        self.inner.ask_one(&RequeueVerb { ids }, key).await
    }
}

impl RedisInner {
    async fn send(&self, batch: &[NewMessage]) -> Replies<()> {
        let promises = promises(self.deployment());
        let judged: Vec<Result<&NewMessage, StoreError>> = batch
            .iter()
            .map(|new_message| promises.check_payload(&new_message.payload).map(|()| new_message))
            .collect();
        let fitting: Vec<&NewMessage> = judged.iter().flatten().copied().collect();
        // Each time, although mostly it is listed already: the server may have forgotten everything since.
        let listing = List::Mailboxes.entries(self.keys(), fitting.iter().map(|new_message| &new_message.key));
        let told = self.ask_in_turn(&SendVerb::new(self.wait().is_some()), &fitting, listing).await;
        let mut answers: VecDeque<_> = told.into();
        let answer = |judged: Result<&NewMessage, StoreError>| {
            let new_message = judged?;
            let reply = answers.pop_front().unwrap_or_else(|| Err(self.tell(RedisStoreError::Silent)))?;
            if reply.value { self.check_replicas(&reply) } else { Err(promises.full(&new_message.key)) }
        };
        judged.into_iter().map(answer).collect()
    }

    async fn message_counts(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError> {
        let names = match only {
            Some(name) => vec![name.clone()],
            None => self.listed(List::Mailboxes, namespace).await?,
        };
        let key = |name: ElectionName| ElectionKey { namespace: namespace.clone(), name };
        let keys: Vec<ElectionKey> = names.into_iter().map(key).collect();
        let counted = self.ask(&Counting, &keys, Vec::new(), None).await.into_values();
        let mut counts = Vec::new();
        for (key, counted) in keys.into_iter().zip(counted) {
            match counted {
                Ok((0, 0)) => {}
                Ok((waiting, dead_letters)) => {
                    counts.push(Ok(MessageCount::new(key.name, waiting, dead_letters)));
                }
                Err(error) if error.damaged_record().is_some() => counts.push(Err(error)),
                Err(error) => return Err(error),
            }
        }
        Ok(counts)
    }

    /// Lists a mailbox again: a message may have been sent while its election was being forgotten and taken off the list.
    pub(super) async fn list_mailbox_again(&self, key: &ElectionKey) -> Result<(), StoreError> {
        if !self.message_counts(&key.namespace, Some(&key.name)).await?.is_empty() {
            self.deployment().run(&List::Mailboxes.entries(self.keys(), [key].into_iter()), None).await;
        }
        Ok(())
    }

    /// Checks that enough replicas have a message, if the configuration asks for replicas.
    fn check_replicas(&self, reply: &VerbReply<bool>) -> Result<(), StoreError> {
        match self.objection(reply, Opinion::Confirmed, "message") {
            Some(why) => Err(self.tell(RedisStoreError::Unconfirmed(why))),
            None => Ok(()),
        }
    }
}

fn promises(deployment: &Deployment) -> MailboxPromises {
    let statement = match deployment {
        Deployment::Standalone { .. } => {
            "Messages wait on the server and last as long as it keeps what it has confirmed; eviction, FLUSHALL or a \
             restart without appendfsync always can lose some."
        }
        Deployment::Sentinel { .. } | Deployment::Cluster(_) => {
            "Messages wait on the servers; replicas follow asynchronously, so a failover can lose messages that were \
             accepted a moment before, and bring back some that were handled."
        }
    };
    MailboxPromises { durable: true, max_payload: MAX_PAYLOAD, max_pending: MAX_PENDING, statement }
}
