//! A store that loses or delays requests and replies on a test's demand.

mod jobs;
mod mailbox;
mod pubsub;

use std::collections::{BTreeMap, VecDeque};
use std::future::{pending, ready};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use tenure_core::{CampaignReply, CandidateId, ElectionName, Namespace, RenewReply, Term};
use tokio::sync::{oneshot, watch};

use super::{Fault, Operation};
use crate::clock::Clock;
use crate::{
    Campaign, Capabilities, ElectionKey, Finding, Forgetting, Hint, Interest, JobLedger, Mailbox, Observation, PubSub,
    Renew, Replies, Resign, Store, StoreError, StoreErrorKind, Transition, async_trait,
};

/// Wraps a store, and on demand does to its calls what a bad network would do.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use std::sync::Arc;
///
/// use tenure::store::{ElectionKey, MemoryStore, Store};
/// use tenure::testing::{Fault, FaultyStore, Operation};
/// use tenure::{ElectionName, Namespace, WriteOutcome};
///
/// let store = FaultyStore::new(Arc::new(MemoryStore::new()));
/// let keys = ["a", "b"].map(|name| ElectionKey {
///     namespace: Namespace::default(),
///     name: ElectionName::new(name).expect("a valid name"),
/// });
///
/// store.inject(Operation::Observe, Fault::LoseReply);
/// let replies = store.observe(&keys).await;
/// assert_eq!(replies[0].as_ref().expect_err("lost").write_outcome(), WriteOutcome::Unknown);
///
/// store.heal();
/// assert!(store.observe(&keys).await.iter().all(Result::is_ok));
/// assert_eq!((store.calls(Operation::Observe), store.requests(Operation::Observe)), (2, 4));
/// # }
/// ```
///
/// Give it to the code under test as the `Arc<dyn Store>` that it is, and keep a clone to pull the strings. Faults
/// last until they are [cleared](Self::clear) or everything is [healed](Self::heal); those injected
/// [once](Self::inject_once) come first and strike one call each. The fault of a call is chosen when
/// the call is first polled.
#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    clock: Clock,
    plan: Mutex<BTreeMap<Operation, FaultPlan>>,
    /// Grows with every release; held calls wait for it to change.
    releases: watch::Sender<u64>,
    hints_dropped: Arc<AtomicBool>,
    /// The number of hints that will panic.
    hints_broken: Arc<AtomicUsize>,
}

/// The planned faults of one operation, and its calls so far.
#[derive(Debug, Default)]
struct FaultPlan {
    lasting: Option<Fault>,
    once: VecDeque<Fault>,
    calls: usize,
    requests: usize,
}

impl FaultyStore {
    /// Wraps a store. Without faults it behaves as that store.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Self::with_clock(inner, Clock::boottime())
    }

    /// Wraps a store; [delays](Fault::DelayReply) are counted on this clock.
    #[must_use]
    pub fn with_clock(inner: Arc<dyn Store>, clock: Clock) -> Arc<Self> {
        let (releases, _) = watch::channel(0);
        Arc::new(Self {
            inner,
            clock,
            plan: Mutex::default(),
            releases,
            hints_dropped: Arc::default(),
            hints_broken: Arc::default(),
        })
    }

    /// From now on this happens to every call of the operation.
    pub fn inject(&self, operation: Operation, fault: Fault) {
        self.plan().entry(operation).or_default().lasting = Some(fault);
    }

    /// From now on this happens to every call.
    pub fn inject_everywhere(&self, fault: &Fault) {
        for operation in Operation::ALL {
            self.inject(operation, fault.clone());
        }
    }

    /// Injects a fault into the next call of the operation, after those injected once before.
    pub fn inject_once(&self, operation: Operation, fault: Fault) {
        self.plan().entry(operation).or_default().once.push_back(fault);
    }

    /// Nothing more happens to calls of the operation. Those that are held stay held.
    pub fn clear(&self, operation: Operation) {
        let mut plan = self.plan();
        let plan = plan.entry(operation).or_default();
        plan.lasting = None;
        plan.once.clear();
    }

    /// Lets go of all calls that are held now. Later ones are held again if that is their fault.
    pub fn release(&self) {
        self.releases.send_modify(|releases| *releases += 1);
    }

    /// Ends all faults, releases all held calls, and lets hints pass.
    pub fn heal(&self) {
        for operation in Operation::ALL {
            self.clear(operation);
        }
        self.drop_hints(false);
        self.release();
    }

    /// Whether hints are lost from now on.
    pub fn drop_hints(&self, dropped: bool) {
        self.hints_dropped.store(dropped, Ordering::Release);
    }

    /// Makes the next `count` hints panic on the thread that waits for them.
    pub fn break_hints(&self, count: usize) {
        self.hints_broken.store(count, Ordering::Release);
    }

    /// The number of calls of the operation, successful or not.
    #[must_use]
    pub fn calls(&self, operation: Operation) -> usize {
        self.plan().get(&operation).map_or(0, |plan| plan.calls)
    }

    /// The number of requests in the batches of those calls.
    #[must_use]
    pub fn requests(&self, operation: Operation) -> usize {
        self.plan().get(&operation).map_or(0, |plan| plan.requests)
    }

    /// Begins to count anew.
    pub fn forget_counts(&self) {
        self.plan().values_mut().for_each(|plan| (plan.calls, plan.requests) = (0, 0));
    }

    /// Counts the call when it is first polled, and applies the fault planned for it.
    async fn call<T: FaultableReply, F: Future<Output = T> + Send + 'static>(
        &self,
        operation: Operation,
        requests: usize,
        execute: impl Fn(Arc<dyn Store>) -> F + Send + 'static,
    ) -> T {
        let fault = self.next_fault(operation, requests);
        let (inner, mut releases) = (Arc::clone(&self.inner), self.releases.subscribe());
        let Some(fault) = fault else { return execute(inner).await };
        match fault {
            Fault::LoseRequest => T::failed(&lost_request(), requests),
            Fault::LoseReply => {
                execute(inner).await;
                T::failed(&lost_reply(), requests)
            }
            Fault::SwallowReply => {
                execute(inner).await;
                pending().await
            }
            Fault::BlackHole => pending().await,
            Fault::Fail(error) => T::failed(&error, requests),
            Fault::Panic => panic_on_purpose(),
            Fault::Duplicate => {
                execute(Arc::clone(&inner)).await;
                execute(inner).await
            }
            Fault::DelayReply(delay) => {
                let due = self.clock.now() + delay;
                let answer = execute(inner).await;
                self.clock.sleep_until(due).await;
                answer
            }
            Fault::HoldReply => {
                let answer = execute(inner).await;
                released(&mut releases).await;
                answer
            }
            Fault::HoldRequest => late(releases, move || execute(inner)).await,
        }
    }

    fn next_fault(&self, operation: Operation, requests: usize) -> Option<Fault> {
        let mut plan = self.plan();
        let plan = plan.entry(operation).or_default();
        plan.calls += 1;
        plan.requests += requests;
        plan.once.pop_front().or_else(|| plan.lasting.clone())
    }

    /// A test that panicked elsewhere left the plan intact: it consists of plain assignments.
    fn plan(&self) -> MutexGuard<'_, BTreeMap<Operation, FaultPlan>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn schema(&self) -> Option<&str> {
        self.inner.schema()
    }

    async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        let batch: Arc<[Campaign]> = batch.into();
        self.call(Operation::Campaign, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            async move { inner.campaign(&batch).await }
        })
        .await
    }

    async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply> {
        let batch: Arc<[Renew]> = batch.into();
        self.call(Operation::Renew, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            async move { inner.renew(&batch).await }
        })
        .await
    }

    async fn resign(&self, batch: &[Resign]) -> Replies<()> {
        let batch: Arc<[Resign]> = batch.into();
        self.call(Operation::Resign, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            async move { inner.resign(&batch).await }
        })
        .await
    }

    async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
        let batch: Arc<[ElectionKey]> = batch.into();
        self.call(Operation::Observe, batch.len(), move |inner| {
            let batch = Arc::clone(&batch);
            async move { inner.observe(&batch).await }
        })
        .await
    }

    async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        let namespace = namespace.clone();
        self.call(Operation::Elections, 1, move |inner| {
            let namespace = namespace.clone();
            async move { inner.elections(&namespace).await }
        })
        .await
    }

    async fn request_handover(&self, key: &ElectionKey, successor: Option<&CandidateId>) -> Result<bool, StoreError> {
        let (key, successor) = (key.clone(), successor.cloned());
        self.call(Operation::RequestHandover, 1, move |inner| {
            let (key, successor) = (key.clone(), successor.clone());
            async move { inner.request_handover(&key, successor.as_ref()).await }
        })
        .await
    }

    async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
        let key = key.clone();
        self.call(Operation::History, 1, move |inner| {
            let key = key.clone();
            async move { inner.history(&key, limit).await }
        })
        .await
    }

    async fn forget(&self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        let key = key.clone();
        self.call(Operation::Forget, 1, move |inner| {
            let key = key.clone();
            async move { inner.forget(&key, idle_for).await }
        })
        .await
    }

    async fn raise_terms(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, StoreError> {
        let (namespace, only) = (namespace.clone(), only.cloned());
        self.call(Operation::RaiseTerms, 1, move |inner| {
            let (namespace, only) = (namespace.clone(), only.clone());
            async move { inner.raise_terms(&namespace, only.as_ref(), above).await }
        })
        .await
    }

    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        let (dropped, broken) = (Arc::clone(&self.hints_dropped), Arc::clone(&self.hints_broken));
        let passes = move |_: &Hint| {
            if broken.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok() {
                panic_on_purpose();
            }
            ready(!dropped.load(Ordering::Acquire))
        };
        self.inner.watch(interest).filter(passes).boxed()
    }

    fn life_line(&self) -> Option<OwnedFd> {
        self.inner.life_line()
    }

    fn mailbox(&self) -> Option<&dyn Mailbox> {
        self.inner.mailbox().map(|_| self as _)
    }

    fn pubsub(&self) -> Option<&dyn PubSub> {
        self.inner.pubsub().map(|_| self as _)
    }

    fn ledger(&self) -> Option<&dyn JobLedger> {
        self.inner.ledger().map(|_| self as _)
    }

    /// Whatever else is ready on the runtime goes first, so that a test which waits for this knows that it has.
    async fn examine(&self) -> Vec<Finding> {
        tokio::task::yield_now().await;
        self.inner.examine().await
    }
}

/// The answer of an operation, with a way to make it a failure.
trait FaultableReply: Send + 'static {
    fn failed(error: &StoreError, requests: usize) -> Self;
}

impl<T: Send + 'static> FaultableReply for Result<T, StoreError> {
    fn failed(error: &StoreError, _requests: usize) -> Self {
        Err(error.clone())
    }
}

impl<T: Send + 'static> FaultableReply for Replies<T> {
    fn failed(error: &StoreError, requests: usize) -> Self {
        std::iter::repeat_with(|| Err(error.clone())).take(requests).collect()
    }
}

/// Runs after the next release, in a task of its own: a request under way does not care whether its sender waits.
async fn late<T: FaultableReply, F: Future<Output = T> + Send + 'static>(
    mut releases: watch::Receiver<u64>,
    execute: impl FnOnce() -> F + Send + 'static,
) -> T {
    let (answer, answered) = oneshot::channel();
    tokio::spawn(async move {
        released(&mut releases).await;
        // The sender may have given up, and that is fine: it has been executed all the same.
        let _ = answer.send(execute().await);
    });
    match answered.await {
        Ok(answer) => answer,
        Err(_) => pending().await,
    }
}

/// Completes at the next release; never when the store is gone, because then no release can come.
async fn released(releases: &mut watch::Receiver<u64>) {
    if releases.changed().await.is_err() {
        pending::<()>().await;
    }
}

#[expect(clippy::panic, reason = "it is what a test wants to happen")]
fn panic_on_purpose() -> ! {
    panic!("the store panicked on purpose")
}

fn lost_request() -> StoreError {
    StoreError::not_sent(StoreErrorKind::Unavailable, "the request was lost on purpose")
}

fn lost_reply() -> StoreError {
    StoreError::unknown(StoreErrorKind::TimedOut, "the reply was lost on purpose")
}

#[cfg(test)]
mod tests;
