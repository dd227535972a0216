//! Requests to the store: batched, sent, answered or given up.

use std::future::{pending, ready};
use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use tenure_core::{Instant, Reply};

use super::batcher::{Batcher, RequestBatch, Requester};
use super::{CandidacyId, StoreCall};
use crate::clock::Clock;
use crate::contain::contain_async;
use crate::store::{Campaign, Renew, Replies, Resign, Store, StoreError, StoreErrorKind};

/// While a batch of a verb is under way, what is asked meanwhile gathers for the next, until the least patient of those
/// who wait for the batch has given it up. A store that hangs is therefore asked few things, however many elections there
/// are, and an election with a long ttl does not use up the time of one with a short ttl.
pub(crate) struct InFlight {
    store: Arc<dyn Store>,
    clock: Clock,
    campaigns: Batcher<Campaign>,
    renewals: Batcher<Renew>,
    resignations: Batcher<Resign>,
    running: FuturesUnordered<BoxFuture<'static, Option<AnsweredBatch>>>,
}

/// The answers to one batch.
pub(crate) struct AnsweredBatch {
    /// The number of the batch; none if it was not sent.
    batch: Option<u64>,
    from: Vec<Requester>,
    replies: Answers,
}

enum Answers {
    Campaign(Replies<tenure_core::CampaignReply>),
    Renew(Replies<tenure_core::RenewReply>),
    Resign(Replies<()>),
}

impl InFlight {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Clock) -> Self {
        Self {
            store,
            clock,
            campaigns: Batcher::default(),
            renewals: Batcher::default(),
            resignations: Batcher::default(),
            running: FuturesUnordered::new(),
        }
    }

    pub(crate) fn campaign(&mut self, from: Requester, request: Campaign, patience: Instant) {
        self.campaigns.push(from, request, patience);
    }

    /// A candidate leaves. Its campaign need not be sent, if it was not sent yet.
    pub(crate) fn withdraw_campaign(&mut self, candidacy: CandidacyId) -> Option<Requester> {
        self.campaigns.withdraw(candidacy)
    }

    pub(crate) fn renew(&mut self, from: Requester, request: Renew, patience: Instant) {
        self.renewals.push(from, request, patience);
    }

    pub(crate) fn resign(&mut self, from: Requester, request: Resign, patience: Instant) {
        self.resignations.push(from, request, patience);
    }

    pub(crate) fn call(&mut self, call: StoreCall) {
        let store = Arc::clone(&self.store);
        self.running.push(Box::pin(async move {
            // Whoever asked finds that nobody is left to answer.
            if let Err(panic) = contain_async(async { call(store).await }).await {
                log!(error, "the store panicked: {panic}");
            }
            None
        }));
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    pub(crate) fn is_about_to_renew(&self) -> bool {
        self.renewals.is_ready(self.clock.now())
    }

    /// Sends the batches that are ready. Resignations go first, because others wait for them.
    pub(crate) fn flush(&mut self) {
        let now = self.clock.now();
        let Self { store, clock, running, .. } = self;
        running.extend(unsent(self.resignations.give_up(now), Answers::Resign));
        running.extend(unsent(self.renewals.give_up(now), Answers::Renew));
        running.extend(unsent(self.campaigns.give_up(now), Answers::Campaign));
        if let Some(RequestBatch { number, from, requests, patience }) = self.resignations.take(now) {
            log!(trace, count = requests.len(), "resignations sent");
            let (store, clock) = (Arc::clone(store), clock.clone());
            running.push(Box::pin(async move {
                let replies = in_time(&clock, patience, requests.len(), async { store.resign(&requests).await }).await;
                Some(AnsweredBatch { batch: Some(number), from, replies: Answers::Resign(replies) })
            }));
        }
        if let Some(RequestBatch { number, from, requests, patience }) = self.renewals.take(now) {
            log!(trace, count = requests.len(), "renewals sent");
            let (store, clock) = (Arc::clone(store), clock.clone());
            running.push(Box::pin(async move {
                let replies = in_time(&clock, patience, requests.len(), async { store.renew(&requests).await }).await;
                Some(AnsweredBatch { batch: Some(number), from, replies: Answers::Renew(replies) })
            }));
        }
        if let Some(RequestBatch { number, from, requests, patience }) = self.campaigns.take(now) {
            log!(trace, count = requests.len(), "campaigns sent");
            let (store, clock) = (Arc::clone(store), clock.clone());
            running.push(Box::pin(async move {
                let replies =
                    in_time(&clock, patience, requests.len(), async { store.campaign(&requests).await }).await;
                Some(AnsweredBatch { batch: Some(number), from, replies: Answers::Campaign(replies) })
            }));
        }
    }

    /// The next batch that was answered or given up; `None` when it was another call, whose answer went elsewhere.
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<AnsweredBatch> {
        let Some(finished) = self.running.next().await else { return pending().await };
        if let Some(AnsweredBatch { batch: Some(number), replies, .. }) = &finished {
            match replies {
                Answers::Campaign(_) => self.campaigns.answered(*number),
                Answers::Renew(_) => self.renewals.answered(*number),
                Answers::Resign(_) => self.resignations.answered(*number),
            }
        }
        finished
    }
}

impl AnsweredBatch {
    /// Every request gets an answer: a store that answers too few has said nothing about the rest.
    pub(crate) fn into_replies(self) -> Box<dyn Iterator<Item = (Requester, Reply, Option<StoreError>)>> {
        let from = self.from;
        match self.replies {
            Answers::Campaign(replies) => Box::new(pair(from, replies, Reply::Campaign)),
            Answers::Renew(replies) => Box::new(pair(from, replies, Reply::Renew)),
            Answers::Resign(replies) => Box::new(pair(from, replies, Reply::Resign)),
        }
    }
}

fn pair<T>(
    from: Vec<Requester>,
    replies: Replies<T>,
    wrap: impl Fn(Result<T, tenure_core::WriteOutcome>) -> Reply,
) -> impl Iterator<Item = (Requester, Reply, Option<StoreError>)> {
    let silence = || Err(StoreError::unknown(StoreErrorKind::Other, "the store returned no answer to the request"));
    let replies = replies.into_iter().chain(std::iter::repeat_with(silence));
    from.into_iter().zip(replies).map(move |(address, reply)| match reply {
        Ok(reply) => (address, wrap(Ok(reply)), None),
        Err(error) => (address, wrap(Err(error.write_outcome())), Some(error)),
    })
}

/// Answers requesters that gave up before their request was sent.
fn unsent<T>(
    from: Vec<Requester>,
    wrap: impl FnOnce(Replies<T>) -> Answers,
) -> Option<BoxFuture<'static, Option<AnsweredBatch>>> {
    let error =
        || StoreError::not_sent(StoreErrorKind::TimedOut, "not sent: the store has not answered earlier requests");
    let replies = wrap(from.iter().map(|_| Err(error())).collect());
    (!from.is_empty()).then(|| Box::pin(ready(Some(AnsweredBatch { batch: None, from, replies }))) as _)
}

/// No call of the store is waited for longer than the electors behind it can wait. One that panics has failed, and nobody
/// knows what became of it.
async fn in_time<T>(
    clock: &Clock,
    patience: Instant,
    requests: usize,
    call: impl Future<Output = Replies<T>>,
) -> Replies<T> {
    let limit = pin!(clock.sleep_until(patience));
    let error = match select(pin!(contain_async(call)), limit).await {
        Either::Left((Ok(replies), _)) => return replies,
        Either::Left((Err(panic), _)) => {
            StoreError::unknown(StoreErrorKind::Other, format!("the store panicked: {panic}"))
        }
        Either::Right(((), _)) => StoreError::unknown(StoreErrorKind::TimedOut, "the store did not answer in time"),
    };
    (0..requests).map(|_| Err(error.clone())).collect()
}
