//! The mailbox: messages to leaders, as the servers keep them.

use std::collections::VecDeque;

use futures_util::future::BoxFuture;
use tenure_core::Failure;

use super::super::mailbox::{
    Mailbox, MailboxPromises, Message, MessageId, PAYLOAD_MAX, Post, Receive, Received, Settle, Settled, Shelf,
    WAITING_MAX,
};
use super::super::{ElectionKey, Replies, StoreError, StoreErrorKind};
use super::RedisStore;
use super::deployment::{Deployment, ELECTIONS_PER_CALL};
use super::desk::{Desk, Reply};
use super::error::Fault;
use super::message_verbs::{Listing, Receiving, Requeueing, Sending, Settling};
use super::verbs::Verb;

impl Mailbox for RedisStore {
    fn promises(&self) -> MailboxPromises {
        promises(self.desk.deployment())
    }

    fn send<'a>(&'a self, batch: &'a [Post]) -> BoxFuture<'a, Replies<()>> {
        Box::pin(self.desk.send(batch))
    }

    fn receive<'a>(&'a self, request: &'a Receive) -> BoxFuture<'a, Result<Received, StoreError>> {
        Box::pin(async move {
            let found = self.desk.ask_one(&Receiving { wake: self.desk.wake_channel() }, request).await?;
            Ok(found.map_or(Received::NotHolder, Received::Messages))
        })
    }

    fn settle<'a>(&'a self, request: &'a Settle) -> BoxFuture<'a, Result<Settled, StoreError>> {
        Box::pin(async move {
            let Some(dropped) = self.desk.ask_one(&Settling, request).await? else { return Ok(Settled::NotHolder) };
            for id in &dropped {
                tracing::warn!(%id, election = %request.key, "dropped a message that was set aside: too many are");
            }
            Ok(Settled::Accepted { dropped: dropped.len() as u64 })
        })
    }

    fn list<'a>(
        &'a self,
        key: &'a ElectionKey,
        shelf: Shelf,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Message>, StoreError>> {
        Box::pin(async move { self.desk.ask_one(&Listing { shelf, limit }, key).await })
    }

    fn requeue<'a>(
        &'a self,
        key: &'a ElectionKey,
        ids: Option<&'a [MessageId]>,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { self.desk.ask_one(&Requeueing { ids }, key).await })
    }
}

impl Desk {
    /// In parts, one after the other, so that all of an election's messages in a part go in one call: calls that are
    /// under way together may change places when a server lacks the script or a slot moves.
    async fn send(&self, batch: &[Post]) -> Replies<()> {
        let mut replies = Vec::with_capacity(batch.len());
        let mut parts = batch.chunks(ELECTIONS_PER_CALL);
        for part in &mut parts {
            replies.extend(self.send_part(part).await);
            let is_in_doubt =
                |reply: &Result<(), StoreError>| reply.as_ref().is_err_and(|error| error.failure() != Failure::Refused);
            if replies.iter().any(is_in_doubt) {
                break;
            }
        }
        let held_back = || {
            let message = "earlier messages of the same batch could not be sent, and these must not overtake them";
            Err(StoreError::not_sent(StoreErrorKind::Unavailable, format!("Redis at {}: {message}", self.place())))
        };
        replies.extend(parts.flatten().map(|_| held_back()));
        replies
    }

    async fn send_part(&self, part: &[Post]) -> Replies<()> {
        let promises = promises(self.deployment());
        let judged: Vec<Result<&Post, StoreError>> =
            part.iter().map(|post| promises.check_payload(&post.payload).map(|()| post)).collect();
        let fitting: Vec<&Post> = judged.iter().flatten().copied().collect();
        let told = self.ask(&Sending::new(self.wait().is_some()), &fitting, Vec::new(), self.wait()).await;
        let mut answers: VecDeque<_> = told.replies.into();
        let answer = |judged: Result<&Post, StoreError>| {
            let post = judged?;
            let reply = answers.pop_front().unwrap_or_else(|| Err(self.tell(Fault::Silent)))?;
            if reply.value { self.check_replicas(&reply) } else { Err(promises.full(&post.key)) }
        };
        judged.into_iter().map(answer).collect()
    }

    /// Who asked for replicas wants them for messages, too.
    fn check_replicas(&self, reply: &Reply<bool>) -> Result<(), StoreError> {
        let wanted = self.wait().map_or(0, |wait| i64::from(wait.replicas));
        match reply.replicas {
            Some(replicas) if replicas < wanted => {
                let why = format!("only {replicas} of {wanted} replicas have confirmed the message in time");
                Err(self.tell(Fault::Unconfirmed(why)))
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn ask_one<V: Verb>(&self, verb: &V, request: &V::Request) -> Result<V::Reply, StoreError> {
        let told = self.ask(verb, std::slice::from_ref(request), Vec::new(), None).await;
        told.into_values().pop().unwrap_or_else(|| Err(self.tell(Fault::Silent)))
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
    MailboxPromises { durable: true, payload_max: PAYLOAD_MAX, waiting_max: WAITING_MAX, statement }
}
