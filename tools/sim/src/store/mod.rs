//! A store: the real rules of an election's record, on a machine that is simulated.

mod jobs;
mod lease;
mod messages;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::jobs::Tick;
use tenure_core::store_rules::ledger::{JobRecord, Ledger, RunRecord};
use tenure_core::store_rules::mailbox::{MailboxLimits, MailboxRecord};
use tenure_core::store_rules::record::{Effects, Moment, ProcessToken, ProcessWatch, Record, Wake};
use tenure_core::{CampaignReply, Candidate, ElectionKey, Instant, JobName, Nonce, Reply, Term, Verb};

use crate::clock::{MILLI, SECOND, SimClock, SimTime};
use crate::kind::StoreKind;
use crate::mistake::{LedgerMistake, MailboxMistake, Mistake, StoreMistake};

use jobs::is_back;
pub(crate) use jobs::{JobReply, JobRequest, LedgerStep};
pub(crate) use lease::{LeaseStep, key};
use messages::MailStep;
pub(crate) use messages::{MailReply, MailRequest};

/// The store of one run.
pub(crate) struct SimStore {
    kind: StoreKind,
    mistake: Option<StoreMistake>,
    ledger_mistake: Option<LedgerMistake>,
    mailbox_mistake: Option<MailboxMistake>,
    /// The clock that leases run on; that of the candidates' own machine if there is none.
    pub(crate) clock: Option<SimClock>,
    kept: SimRecords,
    /// What a copy may still believe, the oldest first.
    past: VecDeque<(SimTime, SimRecords)>,
    /// The primary before the last failover, as those see it who still talk to it.
    old_primary: Option<SimRecords>,
    key: ElectionKey,
}

/// Everything that is written down.
#[derive(Clone, Default)]
struct SimRecords {
    record: Record,
    /// Shared with what copies believe until it changes.
    ledger: Arc<Ledger>,
    mailbox: Arc<MailboxRecord>,
}

/// Who asks, and when.
pub(crate) struct Caller<'a> {
    pub(crate) now: SimTime,
    /// What the clock that leases run on shows.
    pub(crate) shown: Instant,
    pub(crate) process: ProcessToken,
    pub(crate) candidate: &'a Candidate,
    pub(crate) is_gone: &'a dyn Fn(ProcessToken) -> bool,
    /// Whether it talks to a primary that was deposed.
    pub(crate) at_old_primary: bool,
    /// How much later than it should the store lets a lease go.
    pub(crate) lateness: Duration,
}

/// What a store answers, and whom it wakes.
pub(crate) struct StoreAnswer {
    pub(crate) reply: Reply,
    pub(crate) wake: Vec<Wake>,
    /// A new term was granted.
    pub(crate) granted: Option<Term>,
    /// The lease was released, or whoever it was kept for has left.
    pub(crate) released: bool,
    /// Whose end the one that asked waits for from now on, where ends are seen.
    pub(crate) watches: Vec<ProcessWatch>,
}

/// What the quorum's leases last at least.
const MIN_QUORUM_TTL: Duration = Duration::from_secs(2);
/// How far a copy may lag behind; what is older is not kept.
const MAX_LAG: u64 = 5 * SECOND;
/// Some date of the wall clock's, for terms that follow it.
pub(crate) const EPOCH_MS: u64 = 1_700_000_000_000;

impl SimStore {
    pub(crate) fn new(kind: StoreKind, mistake: Option<Mistake>, clock: Option<SimClock>) -> Self {
        let (mistake, ledger_mistake, mailbox_mistake) = match mistake {
            Some(Mistake::Store(mistake)) => (Some(mistake), None, None),
            Some(Mistake::Ledger(mistake)) => (None, Some(mistake), None),
            Some(Mistake::Mailbox(mistake)) => (None, None, Some(mistake)),
            _ => (None, None, None),
        };
        let (kept, past) = (SimRecords::default(), VecDeque::new());
        Self { kind, mistake, ledger_mistake, mailbox_mistake, clock, kept, past, old_primary: None, key: key() }
    }

    /// How long a lease of this ttl really lasts here, at most, on the store's clock.
    pub(crate) fn max_lease(kind: StoreKind, ttl: Duration) -> Duration {
        match kind {
            StoreKind::Quorum => raised(ttl) + Duration::from_millis(600),
            StoreKind::Embedded | StoreKind::Steady | StoreKind::WallClock | StoreKind::Replicated => ttl,
        }
    }

    /// One atomic step.
    pub(crate) fn serve(&mut self, caller: &Caller<'_>, verb: &Verb) -> StoreAnswer {
        self.keep_for_copy(caller.now);
        let shown = self.reads(caller);
        let (ttl, mistake) = (self.ttl(caller), self.mistake);
        // Where terms are also dates, a store that forgot everything still grants later ones.
        let date = Term::new(EPOCH_MS + shown.as_nanos() / MILLI - 1);
        let record = match &mut self.old_primary {
            Some(old) if caller.at_old_primary => &mut old.record,
            _ => &mut self.kept.record,
        };
        let (last_term, was_led) = (record.last_term, record.lease.is_some());
        let mut step = LeaseStep {
            record,
            at: Moment { now: shown, unix_ms: 0, process: caller.process, is_gone: caller.is_gone },
            key: &self.key,
            candidate: caller.candidate,
            ttl,
            terms_above: date.filter(|_| self.kind == StoreKind::Replicated),
            mistake,
        };
        let (reply, effects) = step.serve(verb);
        let granted = match reply {
            Reply::Campaign(Ok(CampaignReply::Granted { term })) if Some(term) > last_term => Some(term),
            _ => None,
        };
        let is_resignation = matches!(verb, Verb::Resign { .. });
        let released = is_resignation && (was_led && step.record.lease.is_none() || !effects.wake.is_empty());
        let watches = match (&reply, verb) {
            (Reply::Campaign(Ok(CampaignReply::Held(held))), Verb::Campaign { nonce }) if self.kind.sees_death() => {
                step.watches(*nonce, held.rank)
            }
            _ => Vec::new(),
        };
        StoreAnswer { reply, wake: effects.wake, granted, released, watches }
    }

    /// Those who stand by, the next one first, at this moment of its clock.
    pub(crate) fn line(&self, shown: Instant) -> impl Iterator<Item = (ProcessToken, Nonce)> + '_ {
        let record = &self.kept.record;
        let mut line: Vec<_> = record.standing_by.iter().filter(|stand_by| shown < stand_by.fresh_until).collect();
        line.sort_by_key(|stand_by| (std::cmp::Reverse(stand_by.priority), stand_by.since, stand_by.nonce));
        line.into_iter().map(|stand_by| (stand_by.process, stand_by.nonce))
    }

    /// Whether it stands by under this nonce.
    pub(crate) fn stands_by(&self, nonce: Nonce, shown: Instant) -> bool {
        let standing_by = &self.kept.record.standing_by;
        standing_by.iter().any(|stand_by| stand_by.nonce == nonce && shown < stand_by.fresh_until)
    }

    /// Whether the last grant was to this nonce.
    pub(crate) fn is_granted_to(&self, nonce: Nonce) -> bool {
        self.kept.record.lease.as_ref().is_some_and(|lease| lease.nonce == nonce)
    }

    /// To which nonce the last grant was, and under which term.
    pub(crate) fn granted(&self) -> Option<(Nonce, Term)> {
        self.kept.record.lease.as_ref().map(|lease| (lease.nonce, lease.leader.term))
    }

    /// What is left of the lease at this moment of its clock.
    pub(crate) fn lease_left(&self, shown: Instant) -> Duration {
        self.kept.record.lease.as_ref().map_or(Duration::ZERO, |lease| lease.expires_at.saturating_since(shown))
    }

    /// The process that holds a lease which runs, and its term.
    pub(crate) fn holder(&self, shown: Instant) -> Option<(ProcessToken, Term)> {
        let lease = self.kept.record.lease.as_ref().filter(|lease| shown < lease.expires_at)?;
        Some((lease.process, lease.leader.term))
    }

    /// One atomic step about jobs, at this moment of the wall clock.
    pub(crate) fn serve_jobs(&mut self, caller: &Caller<'_>, request: &JobRequest, unix_ms: u64) -> JobReply {
        self.keep_for_copy(caller.now);
        let at = Moment { now: self.reads(caller), unix_ms, process: caller.process, is_gone: caller.is_gone };
        let mistake = self.ledger_mistake;
        let kept = match &mut self.old_primary {
            Some(old) if caller.at_old_primary => old,
            _ => &mut self.kept,
        };
        let is_held = request.asker().is_some_and(|(nonce, term)| kept.record.is_held_by(nonce, term, &at));
        let ledger = Arc::make_mut(&mut kept.ledger);
        LedgerStep { ledger, unix_ms, is_held, mistake }.serve(request)
    }

    /// One atomic step about messages.
    pub(crate) fn serve_mail(
        &mut self,
        caller: &Caller<'_>,
        at_old_primary: bool,
        request: &MailRequest,
        limits: MailboxLimits,
    ) -> MailReply {
        self.keep_for_copy(caller.now);
        let at = Moment { now: self.reads(caller), unix_ms: 0, process: caller.process, is_gone: caller.is_gone };
        let mistake = self.mailbox_mistake;
        let kept = match &mut self.old_primary {
            Some(old) if at_old_primary => old,
            _ => &mut self.kept,
        };
        let is_held = request.asker().is_some_and(|(nonce, term)| kept.record.is_held_by(nonce, term, &at));
        MailStep { mailbox: &mut kept.mailbox, limits, is_held, mistake }.serve(request)
    }

    /// The messages that are kept.
    pub(crate) fn mailbox(&self) -> &MailboxRecord {
        &self.kept.mailbox
    }

    /// Up to which tick a job is decided, as whoever asks sees it.
    pub(crate) fn mark(&self, job: &JobName, at_old_primary: bool) -> Option<Tick> {
        self.job(job, at_old_primary).map(|record| record.mark)
    }

    /// The schedule of a job as it is written down.
    pub(crate) fn schedule(&self, job: &JobName) -> Option<&Arc<str>> {
        self.job(job, false).map(|record| &record.schedule)
    }

    /// How often a job has fired, as whoever asks sees it.
    pub(crate) fn fired(&self, job: &JobName, at_old_primary: bool) -> u64 {
        self.job(job, at_old_primary).map_or(0, |record| record.fired)
    }

    /// Whether a tick was claimed and given back, as whoever asks sees it.
    pub(crate) fn has_back(&self, job: &JobName, tick: Tick, at_old_primary: bool) -> bool {
        let record = self.job(job, at_old_primary);
        record.is_some_and(|record| record.runs.iter().any(|known| known.run.tick == tick && is_back(known)))
    }

    /// The ticks of a job that were claimed and given back, and under which term they were claimed.
    pub(crate) fn given_back(&self, job: &JobName) -> impl Iterator<Item = (Tick, Term)> {
        let runs = self.job(job, false).into_iter().flat_map(|record| &record.runs);
        runs.filter(|known| is_back(known)).map(|known| (known.run.tick, known.run.term))
    }

    /// Whether a tick was claimed under this term, and nothing more was told of it.
    pub(crate) fn is_open(&self, job: &JobName, tick: Tick, term: Term) -> bool {
        let is_it = |known: &RunRecord| known.run.tick == tick && known.run.term == term && known.run.end.is_none();
        self.job(job, false).is_some_and(|record| record.runs.iter().any(is_it))
    }

    /// Whether a tick was claimed under this term, begun, and it is known how that ended.
    pub(crate) fn is_ended(&self, job: &JobName, tick: Tick, term: Term) -> bool {
        let is_it = |known: &RunRecord| known.run.tick == tick && known.run.term == term;
        let is_ended = |known: &RunRecord| is_it(known) && known.run.end.is_some() && !is_back(known);
        self.job(job, false).is_some_and(|record| record.runs.iter().any(is_ended))
    }

    fn job(&self, job: &JobName, at_old_primary: bool) -> Option<&JobRecord> {
        let kept = self.old_primary.as_ref().filter(|_| at_old_primary).unwrap_or(&self.kept);
        kept.ledger.jobs.get(job)
    }

    /// An operator asks whoever leads to hand over.
    pub(crate) fn ask_for_handover(&mut self, caller: &Caller<'_>) -> Vec<Wake> {
        let at = Moment { now: caller.shown, unix_ms: 0, process: caller.process, is_gone: caller.is_gone };
        let mut effects = Effects::default();
        self.kept.record.request_handover(None, &at, &mut effects);
        effects.wake
    }

    /// The copy takes over, with what it had got `lag` ago.
    pub(crate) fn fail_over(&mut self, now: SimTime, lag: u64) {
        self.keep_for_copy(now);
        let behind = self.past.partition_point(|(at, _)| *at <= now.saturating_sub(lag));
        let copy = self.past.get(behind.saturating_sub(1)).map(|(_, kept)| kept.clone()).unwrap_or_default();
        self.old_primary = Some(std::mem::replace(&mut self.kept, copy));
        self.past.clear();
    }

    /// Every lease begins anew.
    pub(crate) fn change_quorum(&mut self, shown: Instant) {
        if let Some(lease) = &mut self.kept.record.lease {
            lease.expires_at = lease.expires_at.max(shown + lease.ttl);
        }
    }

    /// Somebody put an empty store in its place.
    pub(crate) fn replace(&mut self) {
        self.kept = SimRecords::default();
        self.past.clear();
    }

    /// What its clock shows, as exactly as it counts.
    fn reads(&self, caller: &Caller<'_>) -> Instant {
        let unit = if self.kind.is_coarse() { MILLI } else { 1 };
        Instant::from_nanos(caller.shown.as_nanos() / unit * unit)
    }

    fn ttl(&self, caller: &Caller<'_>) -> Duration {
        let ttl = caller.candidate.timing.ttl();
        if self.kind == StoreKind::Quorum { raised(ttl) + caller.lateness } else { ttl }
    }

    fn keep_for_copy(&mut self, now: SimTime) {
        if self.kind != StoreKind::Replicated {
            return;
        }
        self.past.push_back((now, self.kept.clone()));
        while self.past.len() > 2 && self.past[1].0 + MAX_LAG < now {
            self.past.pop_front();
        }
    }
}

/// A ttl in the whole seconds of a quorum.
fn raised(ttl: Duration) -> Duration {
    let whole = Duration::from_secs(ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0));
    whole.max(MIN_QUORUM_TTL)
}
