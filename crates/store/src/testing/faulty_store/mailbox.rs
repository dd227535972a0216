//! Faults of messages.

use std::sync::Arc;

use tenure_core::{ElectionName, Namespace};

use super::{FaultyStore, Operation};
use crate::{
    Ack, AckReply, ElectionKey, Mailbox, MailboxPromises, Message, MessageCount, MessageId, MessageState, NewMessage,
    Receive, Received, Replies, Store, StoreError, StoreErrorKind, async_trait,
};

#[async_trait]
impl Mailbox for FaultyStore {
    fn promises(&self) -> MailboxPromises {
        let none = MailboxPromises { durable: false, max_payload: 0, max_pending: 0, statement: NONE };
        self.inner.mailbox().map_or(none, Mailbox::promises)
    }

    async fn send(&self, batch: &[NewMessage]) -> Replies<()> {
        let batch: Arc<[NewMessage]> = batch.into();
        self.call(Operation::Send, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            async move {
                match mailbox(&*inner) {
                    Ok(mailbox) => mailbox.send(&batch).await,
                    Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
                }
            }
        })
        .await
    }

    async fn receive(&self, request: &Receive) -> Result<Received, StoreError> {
        let request = request.clone();
        self.call(Operation::Receive, 1, move |inner| {
            let request = request.clone();
            async move { mailbox(&*inner)?.receive(&request).await }
        })
        .await
    }

    async fn ack(&self, request: &Ack) -> Result<AckReply, StoreError> {
        let request = request.clone();
        self.call(Operation::Settle, request.outcomes.len(), move |inner| {
            let request = request.clone();
            async move { mailbox(&*inner)?.ack(&request).await }
        })
        .await
    }

    async fn list(&self, key: &ElectionKey, state: MessageState, limit: usize) -> Result<Vec<Message>, StoreError> {
        let key = key.clone();
        self.call(Operation::ListMessages, 1, move |inner| {
            let key = key.clone();
            async move { mailbox(&*inner)?.list(&key, state, limit).await }
        })
        .await
    }

    async fn counts(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError> {
        let (namespace, only) = (namespace.clone(), only.cloned());
        self.call(Operation::CountMessages, 1, move |inner| {
            let (namespace, only) = (namespace.clone(), only.clone());
            async move { mailbox(&*inner)?.counts(&namespace, only.as_ref()).await }
        })
        .await
    }

    async fn requeue(&self, key: &ElectionKey, ids: Option<&[MessageId]>) -> Result<u64, StoreError> {
        let (key, ids) = (key.clone(), ids.map(<[MessageId]>::to_vec));
        self.call(Operation::Requeue, 1, move |inner| {
            let (key, ids) = (key.clone(), ids.clone());
            async move { mailbox(&*inner)?.requeue(&key, ids.as_deref()).await }
        })
        .await
    }
}

const NONE: &str = "The store behind has no mailbox.";

/// Whether there is one is asked before anything is sent, so the error is only for those who did not ask.
fn mailbox(inner: &dyn Store) -> Result<&dyn Mailbox, StoreError> {
    inner.mailbox().ok_or_else(|| StoreError::refused(StoreErrorKind::Unsupported, NONE))
}
