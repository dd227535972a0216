//! Messages go astray like everything else.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tenure_core::{ElectionName, Namespace};

use super::{FaultyStore, Operation};
use crate::{
    Ack, AckReply, ElectionKey, Mailbox, MailboxPromises, Message, MessageCount, MessageId, MessageState, NewMessage,
    Receive, Received, Replies, Store, StoreError, StoreErrorKind,
};

impl Mailbox for FaultyStore {
    fn promises(&self) -> MailboxPromises {
        let none = MailboxPromises { durable: false, max_payload: 0, max_pending: 0, statement: NONE };
        self.inner.mailbox().map_or(none, Mailbox::promises)
    }

    fn send<'a>(&'a self, batch: &'a [NewMessage]) -> BoxFuture<'a, Replies<()>> {
        let batch: Arc<[NewMessage]> = batch.into();
        self.call(Operation::Send, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            Box::pin(async move {
                match mailbox(&*inner) {
                    Ok(mailbox) => mailbox.send(&batch).await,
                    Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
                }
            })
        })
    }

    fn receive<'a>(&'a self, request: &'a Receive) -> BoxFuture<'a, Result<Received, StoreError>> {
        let request = request.clone();
        self.call(Operation::Receive, 1, move |inner| {
            let request = request.clone();
            Box::pin(async move { mailbox(&*inner)?.receive(&request).await })
        })
    }

    fn ack<'a>(&'a self, request: &'a Ack) -> BoxFuture<'a, Result<AckReply, StoreError>> {
        let request = request.clone();
        self.call(Operation::Settle, request.outcomes.len(), move |inner| {
            let request = request.clone();
            Box::pin(async move { mailbox(&*inner)?.ack(&request).await })
        })
    }

    fn list<'a>(
        &'a self,
        key: &'a ElectionKey,
        state: MessageState,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Message>, StoreError>> {
        let key = key.clone();
        self.call(Operation::ListMessages, 1, move |inner| {
            let key = key.clone();
            Box::pin(async move { mailbox(&*inner)?.list(&key, state, limit).await })
        })
    }

    fn counts<'a>(
        &'a self,
        namespace: &'a Namespace,
        only: Option<&'a ElectionName>,
    ) -> BoxFuture<'a, Result<Replies<MessageCount>, StoreError>> {
        let (namespace, only) = (namespace.clone(), only.cloned());
        self.call(Operation::CountMessages, 1, move |inner| {
            let (namespace, only) = (namespace.clone(), only.clone());
            Box::pin(async move { mailbox(&*inner)?.counts(&namespace, only.as_ref()).await })
        })
    }

    fn requeue<'a>(
        &'a self,
        key: &'a ElectionKey,
        ids: Option<&'a [MessageId]>,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let (key, ids) = (key.clone(), ids.map(<[MessageId]>::to_vec));
        self.call(Operation::Requeue, 1, move |inner| {
            let (key, ids) = (key.clone(), ids.clone());
            Box::pin(async move { mailbox(&*inner)?.requeue(&key, ids.as_deref()).await })
        })
    }
}

const NONE: &str = "The store behind has no mailbox.";

/// Whether there is one is asked before anything is sent, so the error is only for those who did not ask.
fn mailbox(inner: &dyn Store) -> Result<&dyn Mailbox, StoreError> {
    inner.mailbox().ok_or_else(|| StoreError::refused(StoreErrorKind::Unsupported, NONE))
}
