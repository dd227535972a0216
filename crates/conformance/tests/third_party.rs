//! A store as somebody outside of this workspace writes it: the crate `tenure` has all that it takes, and the suite says
//! whether it keeps the contract. It has neither mailbox nor pub/sub nor ledger; `suite/` implements these with the same crate.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::conformance::Fixture;
use tenure::conformance_tests;
use tenure::store::record::{Effects, Moment, ProcessToken, Record};
use tenure::store::{
    BoxStream, Campaign, CampaignReply, CandidateId, Capabilities, Clock, ElectionKey, ElectionName, Finding,
    Forgetting, Hint, HintChannel, Interest, Namespace, Observation, Renew, RenewReply, Replies, Resign, Store,
    StoreError, Term, Transition, Use, async_trait, check_raise,
};
use tenure::testing::VirtualClock;

/// Records in a map. Clones share them, as processes share a database.
#[derive(Debug, Clone)]
struct ThirdPartyStore {
    clock: Clock,
    tables: Arc<Mutex<ThirdPartyTables>>,
    hints: HintChannel,
}

#[derive(Debug, Default)]
struct ThirdPartyTables {
    elections: BTreeMap<ElectionKey, ThirdPartyElection>,
    /// Terms of elections that are yet to begin are greater than these.
    floors: BTreeMap<Namespace, Term>,
}

#[derive(Debug, Default)]
struct ThirdPartyElection {
    record: Record,
    /// The oldest first.
    history: Vec<Transition>,
}

impl ThirdPartyStore {
    fn new(clock: Clock) -> Self {
        Self { clock, tables: Arc::default(), hints: HintChannel::default() }
    }

    /// One atomic step: loads the record, lets the rules decide, and saves it together with what they wrote down.
    fn step<T>(&self, key: &ElectionKey, decide: impl FnOnce(&mut Record, &Moment<'_>, &mut Effects) -> T) -> T {
        let mut tables = self.tables();
        let floor = tables.floors.get(&key.namespace).copied();
        let ThirdPartyElection { record, history } = tables.elections.entry(key.clone()).or_default();
        if record.last_term.is_none() {
            record.terms_above = record.terms_above.max(floor);
        }
        let mut effects = Effects::default();
        let reply = decide(record, &self.moment(), &mut effects);
        let is_news = !effects.transitions.is_empty() || !effects.wake.is_empty();
        history.extend(effects.transitions);
        drop(tables);
        if is_news {
            for interest in [Interest::Own, Interest::All] {
                self.hints.tell(interest, Hint::at(key.clone()));
            }
        }
        reply
    }

    fn moment(&self) -> Moment<'static> {
        Moment {
            now: self.clock.now(),
            unix_ms: self.clock.unix_ms(),
            process: ProcessToken::default(),
            is_gone: &|_| false,
        }
    }

    /// A panic elsewhere cannot have left a record half changed: every step is made of plain assignments.
    fn tables(&self) -> MutexGuard<'_, ThirdPartyTables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ThirdPartyTables {
    /// Raises the floor of a namespace, and never lowers it.
    fn raise_floor(&mut self, namespace: &Namespace, above: Term) {
        let floor = self.floors.entry(namespace.clone()).or_insert(above);
        *floor = above.max(*floor);
    }
}

#[async_trait]
impl Store for ThirdPartyStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("third party", "Elections within one process, for as long as it lives.").with_pushes(true)
    }

    async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        let step =
            |request: &Campaign| self.step(&request.key, |record, at, effects| record.campaign(request, at, effects));
        batch.iter().map(step).map(Ok).collect()
    }

    async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply> {
        let step = |request: &Renew| self.step(&request.key, |record, at, _| record.renew(request, at));
        batch.iter().map(step).map(Ok).collect()
    }

    async fn resign(&self, batch: &[Resign]) -> Replies<()> {
        let step = |request: &Resign| {
            self.step(&request.key, |record, at, effects| record.resign(request, at, effects));
        };
        batch.iter().map(step).map(Ok).collect()
    }

    async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
        let (tables, at) = (self.tables(), self.moment());
        let look = |key| tables.elections.get(key).map(|election| election.record.observe(&at)).unwrap_or_default();
        batch.iter().map(look).map(Ok).collect()
    }

    async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        let tables = self.tables();
        let in_namespace = tables.elections.iter().filter(|(key, _)| key.namespace == *namespace);
        let had_candidate = in_namespace.filter(|(_, election)| election.record.last_term.is_some());
        Ok(had_candidate.map(|(key, _)| key.name.clone()).collect())
    }

    async fn request_handover(&self, key: &ElectionKey, successor: Option<&CandidateId>) -> Result<bool, StoreError> {
        Ok(self.step(key, |record, at, effects| record.request_handover(successor, at, effects)))
    }

    async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
        let tables = self.tables();
        let newest_first = tables.elections.get(key).into_iter().flat_map(|election| election.history.iter().rev());
        Ok(newest_first.take(limit).cloned().collect())
    }

    async fn forget(&self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        let (mut tables, at, mut effects) = (self.tables(), self.moment(), Effects::default());
        let Some(election) = tables.elections.get_mut(key).filter(|election| election.record.last_term.is_some())
        else {
            return Ok(Forgetting::Unknown);
        };
        let used = election.record.lay_down(&at, &mut effects);
        election.history.extend(effects.transitions);
        let idle = election.history.last().map(|newest| at.unix_ms.saturating_sub(newest.at_unix_ms));
        let is_recent = idle.is_some_and(|idle| Duration::from_millis(idle) < idle_for);
        if let Some(used) = used.or(is_recent.then_some(Use::Recent)) {
            return Ok(Forgetting::InUse(used));
        }
        if let Some(highest) = election.record.highest_taken() {
            tables.raise_floor(&key.namespace, highest);
        }
        tables.elections.remove(key);
        Ok(Forgetting::Forgotten)
    }

    async fn raise_terms(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, StoreError> {
        check_raise(above)?;
        let mut tables = self.tables();
        match only {
            Some(name) => {
                let key = ElectionKey { namespace: namespace.clone(), name: name.clone() };
                tables.elections.entry(key).or_default();
            }
            None => tables.raise_floor(namespace, above),
        }
        let is_meant = |key: &ElectionKey| key.namespace == *namespace && only.is_none_or(|name| *name == key.name);
        let meant = tables.elections.iter_mut().filter(|(key, _)| is_meant(key)).map(|(_, election)| election);
        let lower = meant.filter(|election| election.record.highest_taken() < Some(above));
        Ok(lower.map(|election| election.record.terms_above = Some(above)).count() as u64)
    }

    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        self.hints.watch(interest).into_stream(())
    }

    async fn examine(&self) -> Vec<Finding> {
        vec![Finding::good("reach", "the records are in this process")]
    }
}

struct ThirdPartyFixture {
    clock: Arc<VirtualClock>,
    store: ThirdPartyStore,
}

impl ThirdPartyFixture {
    fn new() -> Self {
        let clock = VirtualClock::new();
        let store = ThirdPartyStore::new(Clock::controlled_by(&clock));
        Self { clock, store }
    }
}

#[async_trait]
impl Fixture for ThirdPartyFixture {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    fn slack(&self) -> Duration {
        Duration::ZERO
    }
}

conformance_tests!(ThirdPartyFixture::new());
conformance_tests!(no messages: ThirdPartyFixture::new());
conformance_tests!(no broadcasts: ThirdPartyFixture::new());
conformance_tests!(no ledger: ThirdPartyFixture::new());
