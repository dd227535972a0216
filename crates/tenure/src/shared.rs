//! State of one candidacy, written by the driver and read by the application.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
#[cfg(feature = "metrics")]
use std::time::Duration;

use tenure_core::{CandidateId, ChannelName, Instant, Leader, LossReason, Nonce, Term, Trust};
use tenure_sys::ForkMarker;
use tokio_util::sync::CancellationToken;

use crate::broadcasts::{self, BroadcastQueues};
use crate::candidacy::Asks;
use crate::clock::Clock;
use crate::contain::contain;
use crate::driver::{CandidacyId, CommandSender, Companion, DriverCommand};
use crate::event::ElectionError;
use crate::messages::{Inbox, MessageHandler};
use crate::metrics::Class;
use crate::phase::{Phase, PhaseCell};
use crate::store::{ElectionKey, StoreError};

/// One candidacy, as the application sees it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) id: CandidacyId,
    pub(crate) key: ElectionKey,
    pub(crate) candidate: CandidateId,
    /// Where fences are, if the store has a schema.
    #[cfg(feature = "postgres")]
    pub(crate) schema: Option<Arc<str>>,
    /// How metrics call it.
    pub(crate) class: Class,
    pub(crate) clock: Clock,
    pub(crate) commands: CommandSender,
    fork: ForkMarker,
    /// Leadership may begin new work before this instant; zero when there is none.
    lead_until: AtomicU64,
    phase: PhaseCell,
    store_view: StoreView,
    /// Health as the elector sees it: a heartbeat may be missing although the application has reported nothing.
    is_healthy: AtomicBool,
    asks: Asks,
    /// Made on demand: most candidates read no messages.
    inbox: OnceLock<Box<Inbox>>,
    max_attempts: u32,
    /// Made on demand, too.
    broadcast_queues: OnceLock<Box<BroadcastQueues>>,
}

impl Shared {
    pub(crate) fn new(
        id: CandidacyId,
        key: ElectionKey,
        candidate: CandidateId,
        class: Class,
        clock: Clock,
        commands: CommandSender,
        max_attempts: u32,
    ) -> Self {
        let fork = ForkMarker::of_this_process();
        let phase = PhaseCell::new(Phase::Standing);
        Self {
            id,
            key,
            candidate,
            #[cfg(feature = "postgres")]
            schema: None,
            class,
            clock,
            commands,
            fork,
            lead_until: AtomicU64::new(0),
            phase,
            store_view: StoreView::default(),
            is_healthy: AtomicBool::new(true),
            asks: Asks::default(),
            inbox: OnceLock::new(),
            max_attempts,
            broadcast_queues: OnceLock::new(),
        }
    }

    /// Its elections are in this schema.
    #[cfg(feature = "postgres")]
    pub(crate) fn in_schema(self, schema: Option<&str>) -> Self {
        Self { schema: schema.map(Arc::from), ..self }
    }

    /// The clock decides, on every call; a forked child never leads.
    #[inline]
    pub(crate) fn is_leader(&self) -> bool {
        let until = self.lead_until.load(Ordering::Acquire);
        until != 0 && self.clock.now() < Instant::from_nanos(until) && self.fork.is_same_process()
    }

    /// Returns the term this candidate leads under at this instant, and for how long unless it is renewed.
    #[cfg(feature = "metrics")]
    pub(crate) fn leads_for(&self) -> Option<(Term, Duration)> {
        let until = Instant::from_nanos(self.lead_until.load(Ordering::Acquire));
        // A forked child may not even look at the phase.
        let left = self.is_leader().then(|| until.saturating_since(self.clock.now()))?;
        let term = self.phase.read(|phase| match phase {
            Phase::Leading(grant) => Some(grant.term),
            Phase::Standing | Phase::Leaving { .. } | Phase::Stopped => None,
        })?;
        Some((term, left))
    }

    pub(crate) fn phase(&self) -> &PhaseCell {
        &self.phase
    }

    pub(crate) fn asks(&self) -> &Asks {
        &self.asks
    }

    pub(crate) fn store_view(&self) -> &StoreView {
        &self.store_view
    }

    pub(crate) fn is_healthy(&self) -> bool {
        self.is_healthy.load(Ordering::Acquire)
    }

    pub(crate) fn set_healthy(&self, healthy: bool) {
        self.is_healthy.store(healthy, Ordering::Release);
    }

    /// The messages of this candidacy, if anybody reads them.
    pub(crate) fn inbox(&self) -> Option<&Inbox> {
        self.inbox.get().map(|inbox| &**inbox)
    }

    /// Makes room for messages. Returns whether there was none before: then a companion has to be attached.
    pub(crate) fn open_inbox(&self, handlers: impl FnOnce() -> BTreeMap<ChannelName, MessageHandler>) -> bool {
        let mut is_new = false;
        self.inbox.get_or_init(|| {
            is_new = true;
            Box::new(Inbox::new(self.key.clone(), handlers(), self.max_attempts))
        });
        is_new
    }

    /// The broadcasts to this candidacy, if anybody reads them.
    pub(crate) fn broadcast_queues(&self) -> Option<&BroadcastQueues> {
        self.broadcast_queues.get().map(|broadcast_queues| &**broadcast_queues)
    }

    /// Makes room for broadcasts. Returns whether there was none before: then a companion has to be attached.
    pub(crate) fn open_broadcast_queues(
        &self,
        handlers: impl FnOnce() -> Vec<Arc<broadcasts::BroadcastHandler>>,
    ) -> bool {
        let mut is_new = false;
        self.broadcast_queues.get_or_init(|| {
            is_new = true;
            Box::new(BroadcastQueues::new(handlers()))
        });
        is_new
    }

    pub(crate) fn send(&self, command: DriverCommand) {
        // A forked child has a copy of the channel, but nobody listens there.
        if self.is_same_process() {
            // The driver outlives every candidacy; when it is gone, so is the trust.
            let _ = self.commands.send(command);
        }
    }

    /// Reports an error of the application, or of what goes on beside the election.
    pub(crate) fn report(&self, error: ElectionError) {
        self.send(DriverCommand::error(self.id, error));
    }

    /// Lets something go on beside the election.
    pub(crate) fn attach(&self, companion: impl Companion) {
        self.send(DriverCommand::Attach(self.id, Arc::new(companion)));
    }

    pub(crate) fn elected(&self, grant: Arc<Grant>, trust: Trust) {
        grant.trust(trust);
        self.lead_until.store(trust.stop_at.as_nanos(), Ordering::Release);
        self.phase.set(Phase::Leading(grant));
    }

    pub(crate) fn renewed(&self, grant: &Grant, trust: Trust) {
        grant.trust(trust);
        let until = self.lead_until.swap(trust.stop_at.as_nanos(), Ordering::AcqRel);
        // Whoever waits to lead goes by the clock, and may have looked when the time was over.
        if self.clock.now() >= Instant::from_nanos(until) {
            self.phase.notify();
        }
    }

    /// Nobody leads from here on, whatever the phase says.
    pub(crate) fn fail_closed(&self) {
        self.lead_until.store(0, Ordering::Release);
    }

    pub(crate) fn lost(&self, term: Term) {
        self.lead_until.store(0, Ordering::Release);
        self.phase.set(Phase::Leaving { term, killed: false, lapsed: false });
    }

    pub(crate) fn killed(&self, term: Term) {
        self.phase.set(Phase::Leaving { term, killed: true, lapsed: false });
    }

    pub(crate) fn lapsed(&self, term: Term) {
        self.phase.set(Phase::Leaving { term, killed: true, lapsed: true });
    }

    pub(crate) fn standing(&self) {
        // Asked after every input, and hardly ever news.
        if self.phase.read(|phase| matches!(phase, Phase::Leaving { .. })) {
            self.phase.set(Phase::Standing);
        }
    }

    pub(crate) fn stopped(&self) {
        self.lead_until.store(0, Ordering::Release);
        self.phase.set(Phase::Stopped);
    }

    pub(crate) fn is_same_process(&self) -> bool {
        self.fork.is_same_process()
    }
}

/// The store's last answer to one candidacy. Small, because most of them follow and hear nothing for long.
#[derive(Debug, Default)]
pub(crate) struct StoreView(Mutex<StoreViewState>);

#[derive(Debug, Default)]
struct StoreViewState {
    /// Who was last seen to lead, if anybody was; `None` before the first look, and since this candidate led itself.
    leader: Option<Option<Box<Leader>>>,
    /// Since when requests fail, and why the last one did.
    outage: Option<Box<(Instant, StoreError)>>,
}

impl StoreView {
    /// Who was last seen to lead, and whether anything is known at all.
    pub(crate) fn observed(&self) -> Option<Option<Leader>> {
        self.read(|state| state.leader.as_ref().map(|leader| leader.as_deref().cloned()))
    }

    pub(crate) fn leader(&self) -> Option<Leader> {
        self.observed().flatten()
    }

    pub(crate) fn saw(&self, leader: Option<Option<Leader>>) {
        self.read(|state| state.leader = leader.map(|leader| leader.map(Box::new)));
    }

    /// Since when requests fail, and why the last one did.
    pub(crate) fn outage(&self) -> Option<(Instant, StoreError)> {
        self.read(|state| state.outage.as_deref().cloned())
    }

    /// A request was answered, or failed.
    pub(crate) fn answered(&self, now: Instant, error: Option<&StoreError>) {
        self.read(|state| {
            let since = state.outage.as_ref().map_or(now, |outage| outage.0);
            state.outage = error.map(|error| Box::new((since, error.clone())));
        });
    }

    fn read<T>(&self, read: impl FnOnce(&mut StoreViewState) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One term of leadership. A new term gets a new one, so nothing under an old term can be mistaken for it.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) term: Term,
    /// Owns the lease, and so the messages. It leaves this crate only as a [`OrphanLease`](crate::crash::OrphanLease).
    nonce: Option<Nonce>,
    trusted_until: AtomicU64,
    work: WorkCount,
    loss: OnceLock<LossReason>,
    /// Made on demand: most applications never ask for one.
    token: OnceLock<CancellationToken>,
}

impl Grant {
    pub(crate) fn new(term: Term, nonce: Option<Nonce>) -> Self {
        let (trusted_until, work) = (AtomicU64::new(0), WorkCount::default());
        Self { term, nonce, trusted_until, work, loss: OnceLock::new(), token: OnceLock::new() }
    }

    /// Returns the token that is cancelled when the term is over. A caller that makes it must check afterwards whether the term
    /// is over already.
    pub(crate) fn token(&self) -> &CancellationToken {
        self.token.get_or_init(CancellationToken::new)
    }

    /// The term is over. Wakers of the application may panic.
    pub(crate) fn cancel(&self) {
        if let Some(token) = self.token.get() {
            let _ = contain(|| token.cancel());
        }
    }

    pub(crate) fn nonce(&self) -> Option<Nonce> {
        self.nonce
    }

    pub(crate) fn trusted_until(&self) -> Instant {
        Instant::from_nanos(self.trusted_until.load(Ordering::Acquire))
    }

    /// Ends all trust: the lease is released, or may be another candidate's.
    pub(crate) fn distrust(&self) {
        self.trusted_until.store(0, Ordering::Release);
    }

    /// Why it ended, if it has.
    pub(crate) fn loss(&self) -> Option<LossReason> {
        self.loss.get().copied()
    }

    pub(crate) fn lost_because(&self, reason: LossReason) {
        self.loss.get_or_init(|| reason);
    }

    pub(crate) fn work(&self) -> &WorkCount {
        &self.work
    }

    fn trust(&self, trust: Trust) {
        self.trusted_until.store(trust.until.as_nanos(), Ordering::Release);
    }
}

/// How much work runs under a term, and whether more may begin.
#[derive(Debug, Default)]
pub(crate) struct WorkCount(AtomicUsize);

impl WorkCount {
    const CLOSED: usize = 1 << (usize::BITS - 1);

    /// False when no more work may begin.
    pub(crate) fn begin(&self) -> bool {
        let begin = |count: usize| (count & Self::CLOSED == 0).then_some(count + 1);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, begin).is_ok()
    }

    /// True when this was the last work of a term that is over.
    pub(crate) fn end(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == Self::CLOSED + 1
    }

    /// No work may begin from here on. True when none runs.
    pub(crate) fn close(&self) -> bool {
        self.0.fetch_or(Self::CLOSED, Ordering::AcqRel) & !Self::CLOSED == 0
    }
}
