//! Bends messages on their way to and from the reference store.

use std::sync::Arc;

use tenure::store::mailbox::AckOutcome;
use tenure::store::{
    Ack, AckReply, Campaign, CandidateId, ChannelName, ElectionKey, ElectionName, LossReason, Mailbox, MailboxPromises,
    Message, MessageCount, MessageId, MessageState, Metadata, Namespace, NewMessage, Nonce, OrderingKey, Priority,
    Receive, Received, Renew, Replies, Resign, Store, StoreError, StoreErrorKind, async_trait, random_message_id,
};

use crate::flaw::Flaw;
use crate::flawed::Flawed;

/// More than any property leaves in a mailbox.
const ALL: usize = 20_000;

impl Flawed {
    async fn send_one(&self, new_message: &NewMessage) -> Result<(), StoreError> {
        let new_message = self.bend_new_message(new_message).await;
        if self.has(Flaw::DropsMessagesWithoutLeader) && self.observe_inner(&new_message.key).await.lease.is_none() {
            return Ok(());
        }
        if self.has(Flaw::MessagesMakeElections) && self.observe_inner(&new_message.key).await.lease.is_none() {
            self.hold_an_election(&new_message.key).await;
        }
        match self.inner.send(std::slice::from_ref(&new_message)).await.remove(0) {
            Err(error) if self.has(Flaw::NeverFull) && error.kind() == StoreErrorKind::Full => Ok(()),
            reply => reply,
        }
    }

    async fn bend_new_message(&self, new_message: &NewMessage) -> NewMessage {
        let mut new_message = NewMessage {
            key: self.bend_key(&new_message.key),
            id: self.bend_id(new_message.id),
            ..new_message.clone()
        };
        new_message.channel = self.bend_channel(&new_message.channel);
        match self.flaw() {
            Some(Flaw::SendsTwice) => {
                let first = self.inner.list(&new_message.key, MessageState::Pending, 10).await.unwrap();
                if first.iter().any(|message| message.id == new_message.id) {
                    new_message.id = random_message_id();
                }
            }
            Some(Flaw::PayloadsAreReformatted) => {
                let value: Option<serde_json::Value> = serde_json::from_str(&new_message.payload).ok();
                new_message.payload = value.map_or(Arc::clone(&new_message.payload), |value| value.to_string().into());
            }
            Some(Flaw::LargePayloadsAreCut) => {
                let kept = new_message.payload.len().min(self.promises().max_payload);
                new_message.payload = new_message.payload[..kept].into();
            }
            Some(_) | None => {}
        }
        new_message
    }

    pub(crate) async fn hold_an_election(&self, key: &ElectionKey) {
        let (key, nonce) = (key.clone(), Nonce::from_bits(1));
        let ttl = self.inner.capabilities().min_ttl;
        let campaign = Campaign {
            key: key.clone(),
            candidate: CandidateId::new("postmaster").unwrap(),
            nonce,
            ttl,
            priority: Priority::default(),
            metadata: Metadata::default(),
            stand_by_for: ttl,
        };
        self.inner.campaign(&[campaign]).await;
        self.inner.resign(&[Resign { key, nonce, term: None, successor: None, reason: LossReason::Resigned }]).await;
    }

    async fn receive_one(&self, request: &Receive) -> Result<Received, StoreError> {
        let mut request = Receive { key: self.bend_key(&request.key), ..request.clone() };
        request.nonce = self.bend_nonce(request.nonce);
        request.channels = request.channels.iter().map(|channel| self.bend_channel(channel)).collect();
        let claims = Some((request.nonce, request.term));
        match self.flaw() {
            Some(Flaw::ReceivingIgnoresNonceAndTerm) => return Ok(Received::Messages(self.peek(&request).await)),
            Some(Flaw::ReceivesForTheExpired) if self.holder(&request.key) == claims => {
                return Ok(Received::Messages(self.peek(&request).await));
            }
            Some(Flaw::ReceivesAllChannels) => {
                request.channels =
                    self.waiting(&request.key).await.into_iter().map(|message| message.channel).collect();
            }
            Some(Flaw::IgnoresLinesHeldBack) => request.except.clear(),
            Some(Flaw::HoldsBackWholeChannels) => {
                request.channels.retain(|channel| request.except.iter().all(|line| line.channel != *channel));
            }
            Some(Flaw::ReceivesWithoutLimit) => request.limit = ALL,
            Some(Flaw::ReceivingRenews) => self.renew_for(&request).await,
            Some(_) | None => {}
        }
        let received = self.inner.receive(&request).await?;
        if let (Received::Messages(messages), Some(Flaw::ReceivingRemoves)) = (&received, self.flaw()) {
            let outcomes = messages.iter().map(|message| (message.id, AckOutcome::Done)).collect();
            let Receive { key, nonce, term, .. } = request;
            self.inner.ack(&Ack { key, nonce, term, outcomes }).await?;
        }
        Ok(received)
    }

    async fn renew_for(&self, request: &Receive) {
        if let Some(lease) = self.observe_inner(&request.key).await.lease {
            let Receive { key, nonce, term, .. } = request.clone();
            self.inner.renew(&[Renew { key, nonce, term, ttl: lease.ttl.unwrap_or_default() }]).await;
        }
    }

    /// What a leader would be given.
    async fn peek(&self, request: &Receive) -> Vec<Message> {
        let mut messages = self.waiting(&request.key).await;
        messages.retain(|message| {
            let is_held_back = |line: &OrderingKey| line.channel == message.channel && line.sender == message.sender;
            request.channels.contains(&message.channel) && !request.except.iter().any(is_held_back)
        });
        messages.truncate(request.limit);
        messages
    }

    async fn ack_one(&self, request: &Ack) -> Result<AckReply, StoreError> {
        let mut request = Ack { key: self.bend_key(&request.key), ..request.clone() };
        request.nonce = self.bend_nonce(request.nonce);
        if let Some((nonce, term)) = self.holder(&request.key) {
            let is_stale = request.term < term;
            if self.has(Flaw::SettlingIgnoresNonceAndTerm) || self.has(Flaw::StaleLeadersSettle) && is_stale {
                (request.nonce, request.term) = (nonce, term);
            }
        }
        let needs_attempts = self.has(Flaw::AttemptsAreCountedTwice);
        let waiting = if needs_attempts { self.waiting(&request.key).await } else { Vec::new() };
        for (id, outcome) in &mut request.outcomes {
            *id = self.bend_id(*id);
            let attempts = waiting.iter().find(|message| message.id == *id).map_or(0, |message| message.attempts);
            self.bend_outcome(outcome, attempts);
        }
        self.inner.ack(&request).await
    }

    fn bend_outcome(&self, outcome: &mut AckOutcome, attempts: u32) {
        match (self.flaw(), &mut *outcome) {
            (Some(Flaw::AttemptsAreCountedTwice), AckOutcome::Failed { attempt, .. }) => *attempt = attempts + 1,
            (
                Some(Flaw::ReasonsAreForgotten),
                AckOutcome::Failed { why, .. } | AckOutcome::DeadLettered { why, .. },
            ) => why.clear(),
            (Some(Flaw::FailedMessagesAreLost), AckOutcome::Failed { .. })
            | (Some(Flaw::DeadLettersAreLost), AckOutcome::DeadLettered { .. }) => *outcome = AckOutcome::Done,
            (Some(_) | None, _) => {}
        }
    }

    async fn requeue_some(&self, key: &ElectionKey, ids: Option<&[MessageId]>) -> Result<u64, StoreError> {
        let key = self.bend_key(key);
        let ids: Option<Vec<MessageId>> = ids.map(|ids| ids.iter().map(|id| self.bend_id(*id)).collect());
        let ids = ids.filter(|_| !self.has(Flaw::PutsBackAll));
        let dead_letters = self.inner.list(&key, MessageState::DeadLetter, ALL).await?;
        let count = self.inner.requeue(&key, ids.as_deref()).await?;
        if let (true, Some((nonce, term))) = (self.has(Flaw::PutBackKeepsAttempts), self.holder(&key)) {
            let fail = |message: &Message| {
                let why = message.last_error.clone().unwrap_or_default();
                (message.id, AckOutcome::Failed { attempt: message.attempts, why })
            };
            self.inner.ack(&Ack { key, nonce, term, outcomes: dead_letters.iter().map(fail).collect() }).await?;
        }
        Ok(count)
    }

    async fn waiting(&self, key: &ElectionKey) -> Vec<Message> {
        self.inner.list(key, MessageState::Pending, ALL).await.unwrap()
    }

    fn bend_id(&self, id: MessageId) -> MessageId {
        let cut = || MessageId::from_bits(id.to_bits() & u128::from(u64::MAX));
        if self.has(Flaw::IdsCutTo64Bits) { cut() } else { id }
    }

    fn bend_channel(&self, channel: &ChannelName) -> ChannelName {
        let lower = || ChannelName::new(channel.as_str().to_lowercase()).unwrap();
        if self.has(Flaw::ChannelsWithoutCase) { lower() } else { channel.clone() }
    }
}

#[async_trait]
impl Mailbox for Flawed {
    fn promises(&self) -> MailboxPromises {
        self.inner.promises()
    }

    async fn send(&self, batch: &[NewMessage]) -> Replies<()> {
        let mut batch = batch.to_vec();
        if self.has(Flaw::SendsOutOfOrder) {
            batch.reverse();
        }
        let mut replies = Vec::new();
        for new_message in &batch {
            replies.push(self.send_one(new_message).await);
        }
        replies
    }

    async fn receive(&self, request: &Receive) -> Result<Received, StoreError> {
        self.receive_one(request).await
    }

    async fn ack(&self, request: &Ack) -> Result<AckReply, StoreError> {
        self.ack_one(request).await
    }

    async fn list(&self, key: &ElectionKey, state: MessageState, limit: usize) -> Result<Vec<Message>, StoreError> {
        let limit = if self.has(Flaw::ListsWithoutLimit) { ALL } else { limit };
        self.inner.list(&self.bend_key(key), state, limit).await
    }

    async fn counts(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
    ) -> Result<Replies<MessageCount>, StoreError> {
        let mut counts = self.inner.counts(namespace, only).await?;
        match self.flaw() {
            Some(Flaw::CountsElectionsOnly) => {
                let known = self.inner.elections(namespace).await?;
                counts.retain(|count| count.as_ref().is_ok_and(|count| known.contains(&count.election)));
            }
            Some(Flaw::CountsNoDeadLetters) => {
                counts.retain(|count| count.as_ref().is_ok_and(|count| count.waiting > 0));
                counts.iter_mut().flatten().for_each(|count| count.dead_letters = 0);
            }
            Some(_) | None => {}
        }
        Ok(counts)
    }

    async fn requeue(&self, key: &ElectionKey, ids: Option<&[MessageId]>) -> Result<u64, StoreError> {
        self.requeue_some(key, ids).await
    }
}
