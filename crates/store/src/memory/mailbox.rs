//! The mailbox of the reference store.

use tenure_core::{ElectionName, Namespace};

use super::{MemoryStore, StoredElection};
use crate::clock::unix_ms;
use crate::mailbox::{
    Ack, AckReply, MAX_PAYLOAD, MAX_PENDING, Mailbox, MailboxPromises, Message, MessageCount, MessageId, MessageState,
    NewMessage, Receive, Received,
};
use crate::{ElectionKey, Replies, StoreError, async_trait};

const PROMISES: MailboxPromises = MailboxPromises {
    durable: true,
    max_payload: MAX_PAYLOAD,
    max_pending: MAX_PENDING,
    statement: "Messages wait inside this process, and are forgotten when it ends.",
};

#[async_trait]
impl Mailbox for MemoryStore {
    fn promises(&self) -> MailboxPromises {
        PROMISES
    }

    async fn send(&self, batch: &[NewMessage]) -> Replies<()> {
        let step = |new_message: &NewMessage| {
            let send = |kept: &mut StoredElection| kept.mailbox.send(new_message, PROMISES.limits(), unix_ms());
            PROMISES.answer(new_message, self.with_kept(&new_message.key, send))?;
            self.hint_messages(&new_message.key);
            Ok(())
        };
        batch.iter().map(step).collect()
    }

    async fn receive(&self, request: &Receive) -> Result<Received, StoreError> {
        let held = self.if_held(&request.key, request.nonce, request.term, |kept| kept.mailbox.receive(request));
        Ok(held.map_or(Received::NotHolder, Received::Messages))
    }

    async fn ack(&self, request: &Ack) -> Result<AckReply, StoreError> {
        let held = self.if_held(&request.key, request.nonce, request.term, |kept| kept.mailbox.ack(request));
        for id in held.iter().flatten() {
            log!(warn, %id, "dropped a dead letter: there are too many");
        }
        let accepted = |dropped: Vec<MessageId>| AckReply::Accepted { dropped: dropped.len() as u64 };
        Ok(held.map_or(AckReply::NotHolder, accepted))
    }

    async fn list(&self, key: &ElectionKey, state: MessageState, limit: usize) -> Result<Vec<Message>, StoreError> {
        Ok(self.with_kept(key, |kept| kept.mailbox.list(state, limit)))
    }

    async fn counts(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError> {
        Ok(self.message_counts(namespace, only).into_iter().map(Ok).collect())
    }

    async fn requeue(&self, key: &ElectionKey, ids: Option<&[MessageId]>) -> Result<u64, StoreError> {
        let count = self.with_kept(key, |kept| kept.mailbox.requeue(ids));
        if count > 0 {
            self.hint_messages(key);
        }
        Ok(count)
    }
}
