//! The mailbox: notifications, which reach the current leader, at most once.

use std::sync::Arc;

use tenure_store::mailbox::{
    Ack, AckReply, MAX_PENDING, Mailbox, MailboxPromises, Message, MessageCount, MessageId, MessageState, NewMessage,
    Receive, Received,
};
use tenure_store::{
    ChannelName, ElectionKey, ElectionName, Namespace, Nonce, Replies, StoreError, StoreErrorKind, Term, async_trait,
};
use tokio_postgres::types::Type;

use super::super::error::PostgresStoreError;
use super::super::identifier::Identifier;
use super::AdvisoryStore;
use super::held_locks::ElectionLock;
use super::session::LockSession;

pub(super) const PROMISES: MailboxPromises = MailboxPromises {
    durable: false,
    // What the server takes as a notification.
    max_payload: 7_999,
    max_pending: MAX_PENDING,
    statement: "Messages are notifications: they reach the current leader if it listens to their channel, at most once, \
                and are lost if there is no such leader or if it dies.",
};

#[async_trait]
impl Mailbox for AdvisoryStore {
    fn promises(&self) -> MailboxPromises {
        PROMISES
    }

    async fn send(&self, batch: &[NewMessage]) -> Replies<()> {
        let mut replies = Vec::with_capacity(batch.len());
        // One by one: the server makes one of two that are the same in one transaction.
        for new_message in batch {
            replies.push(self.pass_on(new_message).await);
        }
        replies
    }

    async fn receive(&self, request: &Receive) -> Result<Received, StoreError> {
        let Some(session) = self.session_of(&request.key, request.nonce, request.term) else {
            return Ok(Received::NotHolder);
        };
        let listening = listen(&session, &request.key, request.term, &request.channels).await;
        listening.map_err(|fault| self.inner.shared().tell(fault))?;
        session.absorb();
        let mut inbox = session.inbox();
        let messages = inbox.of(&request.key, Some(request.term)).map(|messages| messages.receive(request));
        Ok(Received::Messages(messages.unwrap_or_default()))
    }

    async fn ack(&self, request: &Ack) -> Result<AckReply, StoreError> {
        let session = self.session_of(&request.key, request.nonce, request.term);
        let settled = session.map_or(AckReply::NotHolder, |session| {
            let mut inbox = session.inbox();
            let messages = inbox.of(&request.key, Some(request.term));
            AckReply::Accepted { dropped: messages.map_or(0, |messages| messages.ack(request).len() as u64) }
        });
        Ok(settled)
    }

    /// The messages that wait in this process: there is no other place.
    async fn list(&self, key: &ElectionKey, state: MessageState, limit: usize) -> Result<Vec<Message>, StoreError> {
        let session = self.inner.shared().living_session();
        let list = |session: Arc<LockSession>| Some(session.inbox().of(key, None)?.list(state, limit));
        let messages = session.and_then(list).unwrap_or_default();
        Ok(messages)
    }

    /// Counts those in this process only.
    async fn counts(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError> {
        let session = self.inner.shared().living_session();
        let counts = session.map(|session| session.inbox().counts(namespace, only)).unwrap_or_default();
        Ok(counts.into_iter().map(Ok).collect())
    }

    async fn requeue(&self, key: &ElectionKey, ids: Option<&[MessageId]>) -> Result<u64, StoreError> {
        let session = self.inner.shared().living_session();
        let requeue = |session: Arc<LockSession>| Some(session.inbox().of(key, None)?.requeue(ids));
        let count = session.and_then(requeue).unwrap_or_default();
        if count > 0 {
            self.inner.hint_messages(key);
        }
        Ok(count)
    }
}

impl AdvisoryStore {
    async fn pass_on(&self, new_message: &NewMessage) -> Result<(), StoreError> {
        PROMISES.check_payload(&new_message.payload)?;
        let shared = self.inner.shared();
        let send = async {
            let session = shared.session().await?;
            let (channel, payload) = (new_message.channel.as_str(), &*new_message.payload);
            session.ask("SELECT pg_catalog.pg_notify($1, $2)", &[(&channel, Type::TEXT), (&payload, Type::TEXT)]).await
        };
        send.await.map(drop).map_err(|fault| shared.tell(fault))
    }

    /// The session, if it holds this election for this candidate under this term.
    fn session_of(&self, key: &ElectionKey, nonce: Nonce, term: Term) -> Option<Arc<LockSession>> {
        let session = self.inner.shared().living_session()?;
        let is_held = session.held_locks().is_held_by(ElectionLock::of(key).id, nonce, term, session.now());
        is_held.then_some(session)
    }
}

/// Listens to the channels that this leader wants and the session does not listen to yet.
async fn listen(
    session: &LockSession,
    key: &ElectionKey,
    term: Term,
    channels: &[ChannelName],
) -> Result<(), PostgresStoreError> {
    let new = session.inbox().open(key, term, channels);
    if new.is_empty() {
        return Ok(());
    }
    session.run(&statements("LISTEN", &new)?).await?;
    session.inbox().listen(new);
    Ok(())
}

/// Stops listening to channels that no leader of this session wants now.
pub(super) async fn close(session: &LockSession, elections: &[ElectionKey]) {
    let idle: Vec<ChannelName> = {
        let mut inbox = session.inbox();
        elections.iter().flat_map(|key| inbox.close(key)).collect()
    };
    if let Ok(statements) = statements("UNLISTEN", &idle)
        && !idle.is_empty()
    {
        // What still comes is passed over.
        let _ = session.run(&statements).await;
    }
}

/// The name of a channel cannot be a parameter, so it is quoted.
fn statements(word: &str, channels: &[ChannelName]) -> Result<String, PostgresStoreError> {
    let statement = |channel: &ChannelName| {
        let name = Identifier::new(channel.as_str()).map_err(|why| {
            PostgresStoreError::Unusable(StoreErrorKind::Configuration, format!("the channel {channel}: {why}"))
        })?;
        Ok(format!("{word} {name};"))
    };
    channels.iter().map(statement).collect()
}
