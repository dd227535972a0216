//! The reference store with one mistake in it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::store::stream::{self, BoxStream, StreamExt};
use tenure::store::{
    Broadcast, Campaign, CampaignReply, CandidateId, Capabilities, Clock, ElectionKey, ElectionName, Finding,
    Forgetting, Handover, Hint, Instant, Interest, JobLedger, LossReason, Mailbox, MemoryStore, Namespace, Nonce,
    Observation, Priority, PubSub, Renew, RenewReply, Replies, Resign, Store, StoreError, StoreErrorKind, Term,
    Transition, Use, async_trait,
};
use tenure::testing::VirtualClock;

use crate::flaw::Flaw;

/// Bends requests and replies on their way to and from a store that does everything right.
#[derive(Debug, Clone)]
pub(crate) struct Flawed {
    pub(crate) inner: MemoryStore,
    clock: Arc<VirtualClock>,
    flaw: Option<Flaw>,
    seen: Arc<Mutex<BTreeMap<ElectionKey, SeenTraffic>>>,
    /// How many ever wanted hints.
    listeners: Arc<AtomicUsize>,
    /// What was said, and how many ever listened.
    pub(crate) said: Arc<Mutex<(Vec<Broadcast>, usize)>>,
}

/// What went by, so that a flaw can act on it.
#[derive(Debug, Clone, Default)]
struct SeenTraffic {
    holder: Option<SeenHolder>,
    waiting: Vec<Nonce>,
    handover: Option<Handover>,
    /// What is taken off the terms shown.
    off: u64,
}

#[derive(Debug, Clone, Copy)]
struct SeenHolder {
    nonce: Nonce,
    term: Term,
    since: Instant,
}

const CUT_AT: usize = 500;

impl Flawed {
    pub(crate) fn new(clock: &Arc<VirtualClock>, flaw: Option<Flaw>) -> Self {
        let inner = MemoryStore::with_clock(Clock::controlled_by(clock));
        Self {
            inner,
            clock: Arc::clone(clock),
            flaw,
            seen: Arc::default(),
            listeners: Arc::default(),
            said: Arc::default(),
        }
    }

    pub(crate) fn flaw(&self) -> Option<Flaw> {
        self.flaw
    }

    pub(crate) fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// Who held the lease last.
    pub(crate) fn holder(&self, key: &ElectionKey) -> Option<(Nonce, Term)> {
        self.seen(key).holder.map(|holder| (holder.nonce, holder.term))
    }

    fn seen(&self, key: &ElectionKey) -> SeenTraffic {
        self.seen.lock().unwrap().get(key).cloned().unwrap_or_default()
    }

    fn note(&self, key: &ElectionKey, note: impl FnOnce(&mut SeenTraffic)) {
        note(self.seen.lock().unwrap().entry(key.clone()).or_default());
    }

    async fn campaign_one(&self, request: &Campaign) -> Result<CampaignReply, StoreError> {
        let request = self.bend_campaign(request);
        let key = &request.key;
        if self.has(Flaw::ChecksThenActs) && self.observe_inner(key).await.lease.is_none() {
            tokio::task::yield_now().await;
            self.evict(key).await;
        }
        if let Some(holder) = self.seen(key).holder {
            let finds = holder.nonce == request.nonce && self.observe_inner(key).await.lease.is_some();
            if finds && self.has(Flaw::FoundGrantIsNotProlonged) {
                return Ok(CampaignReply::Granted { term: holder.term });
            }
            let outwaited = self.clock.now() >= holder.since + request.ttl;
            if finds && self.has(Flaw::NewGrantForTheSameNonce) || outwaited && self.has(Flaw::ChallengersTtlDecides) {
                self.evict(key).await;
            }
        }
        if self.has(Flaw::GrantsWhileReserved) && self.observe_inner(key).await.reserved_for.is_some() {
            self.evict(key).await;
        }
        let reply = self.inner.campaign(std::slice::from_ref(&request)).await.remove(0)?;
        Ok(self.bend_reply(&request, reply))
    }

    fn bend_campaign(&self, request: &Campaign) -> Campaign {
        let mut request = Campaign { key: self.bend_key(&request.key), ..request.clone() };
        request.nonce = self.bend_nonce(request.nonce);
        match self.flaw {
            Some(Flaw::DropsMetadata) => request.metadata = Arc::default(),
            Some(Flaw::IgnoresPriority) => request.priority = Priority::default(),
            Some(Flaw::KeepsStaleStandBys) => request.stand_by_for *= 100,
            Some(Flaw::EverybodyStandsBy) => request.stand_by_for = request.stand_by_for.max(request.ttl),
            Some(Flaw::ExpiresEarly) => request.ttl = request.ttl * 9 / 10,
            Some(Flaw::ExpiresLate) => request.ttl = request.ttl * 11 / 10,
            Some(_) | None => {}
        }
        request
    }

    fn bend_reply(&self, request: &Campaign, reply: CampaignReply) -> CampaignReply {
        match reply {
            CampaignReply::Granted { term } => {
                let holder = Some(SeenHolder { nonce: request.nonce, term, since: self.clock.now() });
                self.note(&request.key, |seen| seen.holder = holder);
                let shown = Term::new(term.get() - self.seen(&request.key).off).unwrap();
                CampaignReply::Granted { term: shown }
            }
            CampaignReply::Held(held) => {
                self.note(&request.key, |seen| seen.waiting.push(request.nonce));
                match &held.leader {
                    Some(leader) if self.has(Flaw::OwnedByLabel) && leader.candidate == request.candidate => {
                        CampaignReply::Granted { term: leader.term }
                    }
                    Some(_) | None => CampaignReply::Held(held),
                }
            }
        }
    }

    async fn renew_one(&self, request: &Renew) -> Result<RenewReply, StoreError> {
        let mut request = Renew { key: self.bend_key(&request.key), ..request.clone() };
        request.nonce = self.bend_nonce(request.nonce);
        let seen = self.seen(&request.key);
        request.term = Term::new(request.term.get() + seen.off).unwrap();
        if let Some(holder) = seen.holder {
            match self.flaw {
                Some(Flaw::RenewalIgnoresNonce) => request.nonce = holder.nonce,
                Some(Flaw::RenewalIgnoresTerm) => request.term = holder.term,
                Some(Flaw::RenewalRevivesExpired) if holder.term == request.term && holder.nonce == request.nonce => {
                    return Ok(RenewReply::Renewed { handover: None });
                }
                Some(_) | None => {}
            }
        }
        let reply = self.inner.renew(std::slice::from_ref(&request)).await.remove(0)?;
        Ok(match reply {
            RenewReply::Renewed { .. } if self.has(Flaw::ForgetsHandover) => RenewReply::Renewed { handover: None },
            RenewReply::Renewed { .. } if self.has(Flaw::KeepsHandoverForNextTerm) => {
                RenewReply::Renewed { handover: seen.handover }
            }
            RenewReply::Renewed { .. } | RenewReply::NotHolder { .. } => reply,
        })
    }

    async fn resign_one(&self, request: &Resign) -> Result<(), StoreError> {
        let mut request = Resign { key: self.bend_key(&request.key), ..request.clone() };
        request.nonce = self.bend_nonce(request.nonce);
        let seen = self.seen(&request.key);
        request.term = request.term.map(|term| Term::new(term.get() + seen.off).unwrap());
        let is_holder = seen.holder.is_some_and(|holder| holder.nonce == request.nonce);
        let holder = seen.holder.map(|holder| holder.nonce);
        match self.flaw {
            Some(Flaw::ResignationIgnoresNonce) => request.nonce = holder.unwrap_or(request.nonce),
            Some(Flaw::ResignationIgnoresTerm) => request.term = None,
            Some(Flaw::ResignationNeedsTerm) if request.term.is_none() && is_holder => return Ok(()),
            Some(Flaw::ResignationOfNothingFails) if !is_holder => {
                return Err(StoreError::refused(StoreErrorKind::Other, "not held"));
            }
            Some(Flaw::KeepsWithdrawnStandBys) if !is_holder => return Ok(()),
            Some(Flaw::LeavingFreesReservation) if !is_holder => self.evict(&request.key).await,
            Some(Flaw::IgnoresSuccessor) => request.successor = None,
            Some(Flaw::NeverReserves) if is_holder => self.evict(&request.key).await,
            Some(Flaw::TermFallsBackAfterResign) if is_holder => {
                self.note(&request.key, |seen| seen.off = seen.holder.map_or(0, |holder| holder.term.get()));
            }
            Some(_) | None => {}
        }
        if is_holder {
            self.note(&request.key, |seen| seen.holder = None);
        }
        self.inner.resign(std::slice::from_ref(&request)).await.remove(0)
    }

    async fn observe_one(&self, key: &ElectionKey) -> Observation {
        let key = self.bend_key(key);
        if let Some(holder) = self.seen(&key).holder.filter(|_| self.has(Flaw::ObservingProlongs))
            && let Some(lease) = self.observe_inner(&key).await.lease
        {
            let renewal =
                Renew { key: key.clone(), nonce: holder.nonce, term: holder.term, ttl: lease.ttl.unwrap_or_default() };
            self.inner.renew(&[renewal]).await;
        }
        self.observe_inner(&key).await
    }

    pub(crate) async fn observe_inner(&self, key: &ElectionKey) -> Observation {
        self.inner.observe(std::slice::from_ref(key)).await.remove(0).unwrap()
    }

    /// Throws everybody out: those who wait first, so that nothing is reserved.
    pub(crate) async fn evict(&self, key: &ElectionKey) {
        let seen = self.seen(key);
        for nonce in seen.waiting.into_iter().chain(seen.holder.map(|holder| holder.nonce)) {
            let (key, reason) = (key.clone(), LossReason::Revoked);
            self.inner.resign(&[Resign { key, nonce, term: None, successor: None, reason }]).await;
        }
    }

    pub(crate) fn bend_nonce(&self, nonce: Nonce) -> Nonce {
        if self.has(Flaw::NonceCutTo64Bits) { Nonce::from_bits(nonce.to_bits() & u128::from(u64::MAX)) } else { nonce }
    }

    pub(crate) fn bend_key(&self, key: &ElectionKey) -> ElectionKey {
        let name = |text: &str| ElectionName::new(text).unwrap();
        let namespace = self.bend_namespace(&key.namespace);
        match self.flaw {
            Some(Flaw::NamesWithoutCase) => ElectionKey { namespace, name: name(&key.name.as_str().to_lowercase()) },
            Some(Flaw::KeysGluedTogether) => {
                let glued: String = format!("{}:{}", key.namespace, key.name).chars().take(50).collect();
                ElectionKey { namespace: Namespace::default(), name: name(&glued) }
            }
            Some(_) | None => ElectionKey { namespace, name: key.name.clone() },
        }
    }

    fn bend_namespace(&self, namespace: &Namespace) -> Namespace {
        match self.flaw {
            Some(Flaw::NamespacesMeet) => Namespace::default(),
            Some(Flaw::NamesTrimmed) => Namespace::new(namespace.as_str().trim()).unwrap(),
            Some(_) | None => namespace.clone(),
        }
    }

    fn bend_batch<T>(&self, mut replies: Vec<T>) -> Vec<T> {
        if self.has(Flaw::RepliesOutOfOrder) {
            replies.reverse();
        }
        if self.has(Flaw::LargeBatchIsCut) {
            replies.truncate(CUT_AT);
        }
        replies
    }
}

#[async_trait]
impl Store for Flawed {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.inner.capabilities();
        if self.has(Flaw::SaysNothingOfItself) {
            capabilities.statement = "";
        }
        capabilities
    }

    async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        let steps = stream::iter(batch).then(|request| self.campaign_one(request));
        self.bend_batch(steps.collect().await)
    }

    async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply> {
        let steps = stream::iter(batch).then(|request| self.renew_one(request));
        self.bend_batch(steps.collect().await)
    }

    async fn resign(&self, batch: &[Resign]) -> Replies<()> {
        let steps = stream::iter(batch).then(|request| self.resign_one(request));
        self.bend_batch(steps.collect().await)
    }

    async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
        let steps = stream::iter(batch).then(|key| self.observe_one(key)).map(Ok);
        self.bend_batch(steps.collect().await)
    }

    async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        self.inner.elections(&self.bend_namespace(namespace)).await
    }

    async fn request_handover(&self, key: &ElectionKey, successor: Option<&CandidateId>) -> Result<bool, StoreError> {
        let key = self.bend_key(key);
        self.note(&key, |seen| seen.handover = Some(Handover { successor: successor.cloned() }));
        let asked = self.inner.request_handover(&key, successor).await?;
        Ok(asked || self.has(Flaw::HandoverAlwaysPromised))
    }

    async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
        let limit = if self.has(Flaw::HistoryWithoutLimit) { usize::MAX } else { limit };
        let mut lines = self.inner.history(&self.bend_key(key), limit).await?;
        if self.has(Flaw::HistoryOldestFirst) {
            lines.reverse();
        }
        if self.has(Flaw::HistoryWithoutReasons) {
            lines.iter_mut().for_each(|line| line.reason.clear());
        }
        Ok(lines)
    }

    fn mailbox(&self) -> Option<&dyn Mailbox> {
        Some(self)
    }

    fn pubsub(&self) -> Option<&dyn PubSub> {
        Some(self)
    }

    fn ledger(&self) -> Option<&dyn JobLedger> {
        Some(self)
    }

    async fn raise_terms(
        &self,
        namespace: &Namespace,
        only: Option<&ElectionName>,
        above: Term,
    ) -> Result<u64, StoreError> {
        let raise =
            async |only: Option<ElectionName>| Store::raise_terms(&self.inner, namespace, only.as_ref(), above).await;
        let only = only.cloned();
        match self.flaw {
            Some(Flaw::RaisesNoTerms) => Ok(1),
            Some(Flaw::RaisesOnlyKnownTerms) => {
                for name in self.inner.elections(namespace).await? {
                    raise(Some(name)).await?;
                }
                Ok(1)
            }
            Some(Flaw::RaisesEveryTerm) => raise(None).await,
            Some(Flaw::MiscountsRaisedTerms) => raise(only).await.map(|raised| raised + 1),
            Some(Flaw::RaisingEndsALeadership) => {
                for name in self.inner.elections(namespace).await? {
                    self.evict(&ElectionKey { namespace: namespace.clone(), name }).await;
                }
                raise(only).await
            }
            Some(_) | None => raise(only).await,
        }
    }

    async fn forget(&self, key: &ElectionKey, idle_for: Duration) -> Result<Forgetting, StoreError> {
        let key = self.bend_key(key);
        let last_term = self.observe_inner(&key).await.last_term;
        let idle_for = if self.has(Flaw::ForgetsWhateverItsAge) { Duration::ZERO } else { idle_for };
        let forgotten = Store::forget(&self.inner, &key, idle_for).await?;
        if forgotten == Forgetting::Forgotten && self.has(Flaw::TermsFallWhenForgotten) {
            self.note(&key, |seen| seen.off = last_term.map_or(0, Term::get));
        }
        Ok(match forgotten {
            Forgetting::InUse(Use::Messages) if self.has(Flaw::ForgetsThoughMessagesWait) => Forgetting::Forgotten,
            Forgetting::InUse(_) if self.has(Flaw::ForgetsWhatIsUsed) => Forgetting::Forgotten,
            Forgetting::Unknown if self.has(Flaw::ForgetsTheUnknown) => Forgetting::Forgotten,
            forgotten => forgotten,
        })
    }

    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        let before = self.listeners.fetch_add(1, Ordering::Relaxed);
        let is_deaf = self.has(Flaw::SendsNoMessageHints) && interest == Interest::Messages
            || self.has(Flaw::HintsTwo) && before >= 2;
        if self.has(Flaw::SendsNoHints) || is_deaf { stream::pending().boxed() } else { self.inner.watch(interest) }
    }

    async fn examine(&self) -> Vec<Finding> {
        self.inner.examine().await
    }
}
