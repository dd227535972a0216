//! Requests on their way to the store: gathered, sent in batches, answered or given up.

use std::future::pending;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use tenure_core::{Instant, Reply, RequestId};

use super::{EntryId, StoreCall};
use crate::clock::Clock;
use crate::store::{Campaign, Renew, Replies, Resign, Store, StoreError, StoreErrorKind};

/// Who asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub(crate) entry: EntryId,
    pub(crate) request: RequestId,
}

/// At most one batch of each verb is under way; what is asked meanwhile gathers for the next. A store that hangs is
/// therefore asked three things at most, however many elections there are.
pub(crate) struct Calls {
    store: Arc<dyn Store>,
    clock: Clock,
    campaigns: Gathering<Campaign>,
    renewals: Gathering<Renew>,
    resignations: Gathering<Resign>,
    running: FuturesUnordered<BoxFuture<'static, Option<Done>>>,
}

/// Requests of one verb that wait to be sent.
struct Gathering<R> {
    waiting: Vec<R>,
    from: Vec<Address>,
    /// When the most patient of them gives up.
    patience: Instant,
    under_way: bool,
}

/// The answers to one batch.
pub(crate) struct Done {
    from: Vec<Address>,
    replies: Answers,
}

enum Answers {
    Campaign(Replies<tenure_core::CampaignReply>),
    Renew(Replies<tenure_core::RenewReply>),
    Resign(Replies<()>),
}

impl Calls {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Clock) -> Self {
        Self {
            store,
            clock,
            campaigns: Gathering::default(),
            renewals: Gathering::default(),
            resignations: Gathering::default(),
            running: FuturesUnordered::new(),
        }
    }

    pub(crate) fn campaign(&mut self, from: Address, request: Campaign, patience: Instant) {
        self.campaigns.push(from, request, patience);
    }

    pub(crate) fn renew(&mut self, from: Address, request: Renew, patience: Instant) {
        self.renewals.push(from, request, patience);
    }

    pub(crate) fn resign(&mut self, from: Address, request: Resign, patience: Instant) {
        self.resignations.push(from, request, patience);
    }

    pub(crate) fn call(&mut self, call: StoreCall) {
        let future = call(Arc::clone(&self.store));
        self.running.push(Box::pin(async move {
            future.await;
            None
        }));
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    pub(crate) fn is_about_to_renew(&self) -> bool {
        !self.renewals.under_way && !self.renewals.waiting.is_empty()
    }

    /// Sends what may be sent. Resignations first: somebody waits for them.
    pub(crate) fn flush(&mut self) {
        let Self { store, clock, running, .. } = self;
        if let Some((from, batch, patience)) = self.resignations.take() {
            let (store, clock) = (Arc::clone(store), clock.clone());
            running.push(Box::pin(async move {
                let replies = in_time(&clock, patience, batch.len(), store.resign(&batch)).await;
                Some(Done { from, replies: Answers::Resign(replies) })
            }));
        }
        if let Some((from, batch, patience)) = self.renewals.take() {
            let (store, clock) = (Arc::clone(store), clock.clone());
            running.push(Box::pin(async move {
                let replies = in_time(&clock, patience, batch.len(), store.renew(&batch)).await;
                Some(Done { from, replies: Answers::Renew(replies) })
            }));
        }
        if let Some((from, batch, patience)) = self.campaigns.take() {
            let (store, clock) = (Arc::clone(store), clock.clone());
            running.push(Box::pin(async move {
                let replies = in_time(&clock, patience, batch.len(), store.campaign(&batch)).await;
                Some(Done { from, replies: Answers::Campaign(replies) })
            }));
        }
    }

    /// The next batch that was answered or given up; `None` when it was another call, whose answer went elsewhere.
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Done> {
        let Some(finished) = self.running.next().await else { return pending().await };
        match finished.as_ref().map(|done| &done.replies) {
            Some(Answers::Campaign(_)) => self.campaigns.under_way = false,
            Some(Answers::Renew(_)) => self.renewals.under_way = false,
            Some(Answers::Resign(_)) => self.resignations.under_way = false,
            None => {}
        }
        finished
    }
}

impl<R> Gathering<R> {
    fn push(&mut self, from: Address, request: R, patience: Instant) {
        self.waiting.push(request);
        self.from.push(from);
        self.patience = self.patience.max(patience);
    }

    fn take(&mut self) -> Option<(Vec<Address>, Vec<R>, Instant)> {
        if self.under_way || self.waiting.is_empty() {
            return None;
        }
        self.under_way = true;
        Some((std::mem::take(&mut self.from), std::mem::take(&mut self.waiting), self.patience))
    }
}

impl<R> Default for Gathering<R> {
    fn default() -> Self {
        Self { waiting: Vec::new(), from: Vec::new(), patience: Instant::ZERO, under_way: false }
    }
}

impl Done {
    /// Every request gets an answer: a store that answers too few has said nothing about the rest.
    pub(crate) fn into_replies(self) -> Vec<(Address, Reply, Option<StoreError>)> {
        let from = self.from;
        match self.replies {
            Answers::Campaign(replies) => pair(from, replies, Reply::Campaign),
            Answers::Renew(replies) => pair(from, replies, Reply::Renew),
            Answers::Resign(replies) => pair(from, replies, Reply::Resign),
        }
    }
}

fn pair<T>(
    from: Vec<Address>,
    replies: Replies<T>,
    wrap: impl Fn(Result<T, tenure_core::Failure>) -> Reply,
) -> Vec<(Address, Reply, Option<StoreError>)> {
    let silence = || Err(StoreError::unknown(StoreErrorKind::Other, "the store left the request unanswered"));
    let replies = replies.into_iter().chain(std::iter::repeat_with(silence));
    let answer = |(address, reply): (Address, Result<T, StoreError>)| match reply {
        Ok(reply) => (address, wrap(Ok(reply)), None),
        Err(error) => (address, wrap(Err(error.failure())), Some(error)),
    };
    from.into_iter().zip(replies).map(answer).collect()
}

/// No call of the store is waited for longer than the electors behind it can wait.
async fn in_time<T>(clock: &Clock, patience: Instant, requests: usize, call: BoxFuture<'_, Replies<T>>) -> Replies<T> {
    let limit = std::pin::pin!(clock.sleep_until(patience));
    match select(call, limit).await {
        Either::Left((replies, _)) => replies,
        Either::Right(((), _)) => (0..requests)
            .map(|_| Err(StoreError::unknown(StoreErrorKind::TimedOut, "the store did not answer in time")))
            .collect(),
    }
}
