//! The reference store: inside one process, for tests and examples, and the measure for all other stores.

mod jobs;
mod mailbox;
mod pubsub;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::BoxStream;
use tenure_core::store_rules::ledger::Ledger;
use tenure_core::store_rules::mailbox::MailboxRecord;
use tenure_core::store_rules::record::{Effects, Moment, ProcessToken, Record, TERMS_USED_UP};
use tenure_core::{CampaignReply, CandidateId, ElectionName, Namespace, Nonce, RenewReply, Term, WriteOutcome};

use crate::clock::Clock;
use crate::subscribers::Subscribers;
use crate::{
    Campaign, Capabilities, ElectionKey, Finding, Forgetting, Hint, HintChannel, Interest, JobLedger, Mailbox,
    MessageCount, Observation, PubSub, Renew, Replies, Resign, Store, StoreError, Transition, Use, async_trait,
    check_raise,
};

/// A store in memory. Clones share their elections, so several candidates of one process can compete.
///
/// Each [`new`](Self::new) one is a store of its own, and so is that of each `Client::open("memory:")`: clients that are to meet
/// get clones of one store.
///
/// ```
/// use tenure::{MemoryStore, Client};
///
/// let store = MemoryStore::new();
/// let one = Client::with_store(store.clone())?;
/// let other = Client::with_store(store)?;
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MemoryStore {
    clock: Clock,
    elections: Arc<Mutex<BTreeMap<ElectionKey, StoredElection>>>,
    /// The highest forgotten term, by namespace. Locked while `elections` is locked, never the other way round.
    forgotten: Arc<Mutex<BTreeMap<Namespace, Term>>>,
    hints: HintChannel,
    subscribers: Arc<Subscribers>,
}

/// Everything kept about one election.
#[derive(Debug, Default)]
struct StoredElection {
    record: Record,
    history: VecDeque<Transition>,
    mailbox: MailboxRecord,
    ledger: Ledger,
}

const MAX_HISTORY: usize = 1_000;

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Clock::boottime())
    }

    /// An empty store whose leases use this clock.
    #[must_use]
    pub fn with_clock(clock: Clock) -> Self {
        Self {
            clock,
            elections: Arc::default(),
            forgotten: Arc::default(),
            hints: HintChannel::default(),
            subscribers: Arc::default(),
        }
    }

    /// One atomic step on one election.
    fn step<T>(&self, key: &ElectionKey, act: impl FnOnce(&mut Record, &Moment<'_>, &mut Effects) -> T) -> T {
        let mut elections = self.elections();
        let kept = elections.entry(key.clone()).or_default();
        let mut effects = Effects::default();
        let reply = act(&mut kept.record, &self.moment(), &mut effects);
        let news = !effects.transitions.is_empty() || !effects.wake.is_empty();
        kept.history.extend(effects.transitions);
        while kept.history.len() > MAX_HISTORY {
            kept.history.pop_front();
        }
        drop(elections);
        if news {
            for interest in [Interest::Own, Interest::All] {
                self.hints.tell(interest, Hint::at(key.clone()));
            }
        }
        reply
    }

    /// The highest forgotten term of a namespace.
    fn forgotten(&self) -> MutexGuard<'_, BTreeMap<Namespace, Term>> {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, key: &ElectionKey, idle_for: Duration) -> Forgetting {
        let at = self.moment();
        let mut elections = self.elections();
        let Some(kept) = elections.get_mut(key) else { return Forgetting::Unknown };
        if !kept.mailbox.pending.is_empty() {
            return Forgetting::InUse(Use::Messages);
        }
        if kept.record.last_term.is_none() {
            return Forgetting::Unknown;
        }
        let mut effects = Effects::default();
        let used = kept.record.lay_down(&at, &mut effects);
        kept.history.extend(effects.transitions);
        let idle = kept.history.back().map(|newest| at.unix_ms.saturating_sub(newest.at_unix_ms));
        let is_recent = idle.is_some_and(|idle| Duration::from_millis(idle) < idle_for);
        if let Some(used) = used.or(is_recent.then_some(Use::Recent)) {
            return Forgetting::InUse(used);
        }
        let mut forgotten = self.forgotten();
        let highest = forgotten.get(&key.namespace).copied().max(kept.record.highest_taken());
        highest.map(|highest| forgotten.insert(key.namespace.clone(), highest));
        elections.remove(key);
        Forgetting::Forgotten
    }

    fn raise_terms(&self, namespace: &Namespace, only: Option<&ElectionName>, above: Term) -> u64 {
        let mut elections = self.elections();
        if let Some(name) = only {
            elections.entry(ElectionKey { namespace: namespace.clone(), name: name.clone() }).or_default();
        } else {
            let mut forgotten = self.forgotten();
            let highest = forgotten.get(namespace).copied().max(Some(above));
            highest.map(|highest| forgotten.insert(namespace.clone(), highest));
        }
        let is_meant = |key: &ElectionKey| key.namespace == *namespace && only.is_none_or(|name| *name == key.name);
        let records = elections.iter_mut().filter(|(key, _)| is_meant(key)).map(|(_, kept)| &mut kept.record);
        let lower = records.filter(|record| record.highest_taken() < Some(above));
        lower.map(|record| record.terms_above = Some(above)).count() as u64
    }

    /// One atomic step on the data kept beside the lease of one election.
    fn with_kept<T>(&self, key: &ElectionKey, act: impl FnOnce(&mut StoredElection) -> T) -> T {
        act(self.elections().entry(key.clone()).or_default())
    }

    /// The same for the leader; `None` if the caller does not lead.
    fn if_held<T>(
        &self,
        key: &ElectionKey,
        nonce: Nonce,
        term: Term,
        act: impl FnOnce(&mut StoredElection) -> T,
    ) -> Option<T> {
        let mut elections = self.elections();
        let kept = elections.get_mut(key)?;
        kept.record.is_held_by(nonce, term, &self.moment()).then(|| act(kept))
    }

    fn message_counts(&self, namespace: &Namespace, only: Option<&ElectionName>) -> Vec<MessageCount> {
        let elections = self.elections();
        let wanted = |key: &ElectionKey| key.namespace == *namespace && only.is_none_or(|name| *name == key.name);
        let counts = elections.iter().filter(|(key, _)| wanted(key));
        counts.filter_map(|(key, kept)| kept.mailbox.count(&key.name)).collect()
    }

    fn hint_messages(&self, key: &ElectionKey) {
        self.hints.tell(Interest::Messages, Hint::at(key.clone()));
    }

    /// The wall clock of this store.
    fn unix_ms(&self) -> u64 {
        self.clock.unix_ms()
    }

    /// The listeners to broadcasts, through any clone.
    fn subscribers(&self) -> &Arc<Subscribers> {
        &self.subscribers
    }

    fn moment(&self) -> Moment<'static> {
        Moment {
            now: self.clock.now(),
            unix_ms: self.clock.unix_ms(),
            process: ProcessToken::default(),
            is_gone: &|_: ProcessToken| false,
        }
    }

    /// A panic elsewhere cannot leave a record half changed: every step consists of plain assignments.
    fn elections(&self) -> MutexGuard<'_, BTreeMap<ElectionKey, StoredElection>> {
        self.elections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "memory",
            statement: "Elections within one process only; everything is lost when it ends.",
            pushes: true,
            sees_death: false,
            min_ttl: Duration::from_millis(1),
            lacks: &[],
        }
    }

    async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        let step = |request: &Campaign| {
            self.step(&request.key, |record, at, effects| {
                record.last_term = record.last_term.or_else(|| self.forgotten().get(&request.key.namespace).copied());
                if record.is_used_up() && record.is_free_for(request, at) {
                    return Err(StoreError::damaged("memory", &request.key, WriteOutcome::Refused, TERMS_USED_UP));
                }
                Ok(record.campaign(request, at, effects))
            })
        };
        batch.iter().map(step).collect()
    }

    async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply> {
        let step = |request: &Renew| Ok(self.step(&request.key, |record, at, _| record.renew(request, at)));
        batch.iter().map(step).collect()
    }

    async fn resign(&self, batch: &[Resign]) -> Replies<()> {
        let step = |request: &Resign| {
            self.step(&request.key, |record, at, effects| record.resign(request, at, effects));
            Ok(())
        };
        batch.iter().map(step).collect()
    }

    async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
        let elections = self.elections();
        let at = self.moment();
        let look = |key| Ok(elections.get(key).map(|kept| kept.record.observe(&at)).unwrap_or_default());
        batch.iter().map(look).collect()
    }

    async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        let elections = self.elections();
        // A record without a term was only asked about: nobody ever campaigned there.
        let had_candidate = |kept: &StoredElection| kept.record.last_term.is_some();
        let here = elections.iter().filter(|(key, kept)| key.namespace == *namespace && had_candidate(kept));
        Ok(here.map(|(key, _)| key.name.clone()).collect())
    }

    async fn request_handover(&self, key: &ElectionKey, successor: Option<&CandidateId>) -> Result<bool, StoreError> {
        let asked = self.step(key, |record, at, effects| record.request_handover(successor, at, effects));
        Ok(asked)
    }

    async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
        let elections = self.elections();
        let latest = elections.get(key).map(|kept| kept.history.iter().rev().take(limit).cloned().collect());
        Ok(latest.unwrap_or_default())
    }

    async fn forget(&self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        Ok(self.forget(key, idle_for))
    }

    async fn raise_terms(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, StoreError> {
        check_raise(above)?;
        Ok(self.raise_terms(namespace, only, above))
    }

    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        self.hints.watch(interest).into_stream(())
    }

    fn mailbox(&self) -> Option<&dyn Mailbox> {
        Some(self)
    }

    fn ledger(&self) -> Option<&dyn JobLedger> {
        Some(self)
    }

    fn pubsub(&self) -> Option<&dyn PubSub> {
        Some(self)
    }

    async fn examine(&self) -> Vec<Finding> {
        vec![Finding::warning("reach", "the memory store ends with this process")]
    }
}
