//! Lets jobs begin while their candidate leads, and tells the store how they ended.
//!
//! It runs on the driver's thread, beside the elections, and waits for nothing the application does.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use tenure_core::jobs::{Finish, Tick};
use tenure_core::{Input, Instant, Timing};

use super::event::{JobError, JobEvent};
use super::job::Job;
use super::job_set::{JobSet, JobSlot, OngoingRun, RunId, RunStage};
use super::term::{JobTerm, PlannedClaim};
use super::wall_clock::WallClock;
use crate::driver::DriverCommand;
use crate::event::{ElectionError, EventKind};
use crate::leadership::{Leadership, Work};
use crate::phase::Phase;
use crate::retry::{retry_after, spread};
use crate::shared::Shared;
use crate::store::{JobLedger, Replies, Store, StoreError, StoreErrorKind};

/// How many ticks are claimed at once, and how many ends are told.
pub(super) const TOGETHER: usize = 100;
/// How many jobs are planned before the elections beside them have a turn.
const PLANNED_AT_A_STRETCH: usize = 10;
/// A wall clock that is set is noticed after this at the latest.
const SLEEP_LONGEST: Duration = Duration::from_secs(10);
/// After so many failures in a row the wait does not grow any more: ticks do not wait for it.
const FAILURES_COUNTED: u32 = 6;

/// Runs until the candidate has left the election.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>, timing: Timing, job_set: Arc<JobSet>) {
    let Some(ledger) = store.ledger() else { return };
    let mut scheduler = Scheduler::new(&shared, ledger, &job_set, &timing);
    loop {
        let led = |phase: &Phase| match phase {
            Phase::Leading(grant) => Some(Some(Arc::clone(grant))),
            Phase::Stopped => Some(None),
            Phase::Standing | Phase::Leaving { .. } => None,
        };
        let grant = match select(pin!(shared.phase().wait_for(led)), pin!(scheduler.tell_on())).await {
            Either::Left((grant, _)) => grant,
            Either::Right((never, _)) => match never {},
        };
        let Some(grant) = grant else { return scheduler.tell_last().await };
        let leadership = Leadership::new(Arc::clone(&shared), Arc::clone(&grant));
        if let Some(nonce) = grant.nonce() {
            let mut term = JobTerm::new(leadership.clone(), nonce);
            select(pin!(scheduler.serve(&mut term)), pin!(leadership.overdue())).await;
            scheduler.end(term);
        }
        leadership.overdue().await;
    }
}

/// The jobs of one candidacy, under all its leaderships.
pub(super) struct Scheduler<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) ledger: &'a dyn JobLedger,
    pub(super) job_set: &'a Arc<JobSet>,
    pub(super) slots: Vec<JobSlot>,
    /// Which edition of the jobs they are.
    edition: u64,
    patience: Duration,
    pub(super) grace: Duration,
    pub(super) ttl: Duration,
    pub(super) wall_clock: WallClock,
    pub(super) running: BTreeMap<RunId, OngoingRun>,
    pub(super) untold: VecDeque<UnreportedEnd>,
    /// Ticks that were given back and that the store did not know, each with the moment to tell it again.
    pub(super) doubted: VecDeque<(Instant, UnreportedEnd)>,
    /// A tick was given back since this was looked at last.
    pub(super) gave_back: bool,
    failures: u32,
    not_before: Instant,
}

/// The end of a run that the store has not been told.
pub(super) struct UnreportedEnd {
    pub(super) finish: Finish,
    /// Keeps the lease from being released until it is.
    pub(super) work: Option<Arc<Work>>,
    /// After its leadership it does not matter for ever.
    pub(super) until: Option<Instant>,
    /// Until then its claim may still be on its way to the store, which does not know it yet.
    pub(super) doubt_until: Option<Instant>,
}

/// Why nothing came of a call to the store.
pub(super) enum LedgerCallError {
    /// It failed.
    Store(StoreError),
    /// It says that somebody else holds the lease.
    NotHolder,
    /// It keeps no more jobs.
    TooMany,
}

pub(super) type LedgerCallResult = Result<(), LedgerCallError>;

impl<'a> Scheduler<'a> {
    fn new(shared: &'a Arc<Shared>, ledger: &'a dyn JobLedger, job_set: &'a Arc<JobSet>, timing: &Timing) -> Self {
        Self {
            shared,
            ledger,
            job_set,
            slots: Vec::new(),
            edition: 0,
            patience: timing.attempt_timeout(),
            grace: timing.grace(),
            ttl: timing.ttl(),
            wall_clock: WallClock::new(shared.clock.clone()),
            running: BTreeMap::new(),
            untold: VecDeque::new(),
            doubted: VecDeque::new(),
            gave_back: false,
            failures: 0,
            not_before: Instant::ZERO,
        }
    }

    /// One of the jobs, also if it is not to be run any more.
    pub(super) fn job(&self, index: usize) -> Option<Arc<Job>> {
        self.slots.get(index).map(|slot| Arc::clone(&slot.job))
    }

    /// Takes over the jobs that are new or changed, and lets go of those that are gone; returns whether there were any. Runs that
    /// go on are not concerned.
    fn take_jobs(&mut self) -> bool {
        let Some((jobs, edition)) = self.job_set.newer_than(self.edition) else { return false };
        self.edition = edition;
        self.slots.iter_mut().for_each(|slot| slot.is_current = false);
        for (job, handler) in jobs.0 {
            let new = JobSlot { job: Arc::new(job), handler, is_current: true };
            match self.slots.iter_mut().find(|slot| slot.job.name() == new.job.name()) {
                Some(slot) => *slot = new,
                None => self.slots.push(new),
            }
        }
        true
    }

    /// Runs until it is dropped.
    async fn serve(&mut self, term: &mut JobTerm) {
        loop {
            let now = self.shared.clock.now();
            if self.take_jobs() {
                term.close();
            }
            self.collect(Some(term));
            self.enforce_limits(now);
            if term.leadership.is_cancelled() {
                self.stop_resting(Some(term));
                self.give_back(term);
            } else {
                self.retry(term, now);
            }
            let progress = if now < self.not_before { None } else { self.step(term).await };
            match progress {
                Some(progress) => self.went(progress),
                None => self.wait(Some(term)).await,
            }
        }
    }

    /// Tells the store of runs whose leadership is over, until it is dropped.
    async fn tell_on(&mut self) -> Infallible {
        loop {
            let now = self.shared.clock.now();
            self.take_jobs();
            self.collect(None);
            self.enforce_limits(now);
            self.grow_old(now);
            let progress = if now < self.not_before { None } else { self.tell().await };
            match progress {
                Some(progress) => self.went(progress),
                None => self.wait(None).await,
            }
        }
    }

    /// The candidate has left. What has not been told by now is told once.
    async fn tell_last(&mut self) {
        self.collect(None);
        self.untold.extend(self.doubted.drain(..).map(|(_, untold)| untold));
        if let Some(progress) = self.tell().await {
            self.went(progress);
        }
    }

    /// One call to the store; `None` when there is nothing to ask or tell.
    async fn step(&mut self, term: &mut JobTerm) -> Option<LedgerCallResult> {
        if let Some(progress) = self.tell().await {
            return Some(progress);
        }
        // Nothing begins any more.
        if term.leadership.is_cancelled() {
            return None;
        }
        let now = self.shared.clock.now();
        if !term.is_open() || term.doubts_marks(now) {
            return Some(self.open(term).await);
        }
        let gave_back = std::mem::take(&mut self.gave_back);
        if term.learn_at().is_some_and(|at| gave_back || at <= now) {
            return Some(self.learn(term).await);
        }
        let look = self.wall_clock.look();
        if look.was_set {
            term.look_at_all();
            self.report_marks(term, look.unix_ms);
        }
        let planned_claims = self.planned_claims(term, look.unix_ms).await;
        if planned_claims.is_empty() || !term.hold() { None } else { Some(self.claim(term, &planned_claims).await) }
    }

    /// What to claim now. Counting what was missed takes time, and no lease must wait for it.
    async fn planned_claims(&self, term: &mut JobTerm, unix_ms: u64) -> Vec<PlannedClaim> {
        let mut planned_claims = Vec::new();
        while planned_claims.len() < TOGETHER {
            let few = term.planned_claims(|index| self.job(index), unix_ms, PLANNED_AT_A_STRETCH);
            if few.is_empty() {
                break;
            }
            planned_claims.extend(few);
            tokio::task::yield_now().await;
        }
        planned_claims
    }

    /// Waits until a run ends, or until it is time to try, to look or to tell again.
    async fn wait(&self, term: Option<&JobTerm>) {
        let now = self.shared.clock.now();
        let look = term.filter(|term| !term.leadership.is_cancelled()).map(|term| {
            let due_ms = if term.is_open() { term.next_look().unwrap_or(u64::MAX) } else { 0 };
            let ahead = Duration::from_millis(due_ms.saturating_sub(self.shared.clock.unix_ms()));
            let look = now + ahead.min(SLEEP_LONGEST);
            term.learn_at().map_or(look, |at| look.min(at)).max(self.not_before)
        });
        let tell = (!self.untold.is_empty()).then_some(self.not_before);
        let tell_again = self.doubted.front().map(|(at, _)| self.not_before.max(*at));
        let limit = self.running.values().filter_map(|running| running.deadline).min();
        let is_resting = self.running.values().any(|running| running.stage == RunStage::Resting);
        let lost = pin!(async {
            match term.filter(|term| (term.is_held() || is_resting) && !term.leadership.is_cancelled()) {
                Some(term) => term.leadership.cancelled().await,
                None => std::future::pending().await,
            }
        });
        let ended = pin!(self.job_set.ended_some.notified());
        let changed = select(ended, lost);
        match [look, tell, tell_again, limit].into_iter().flatten().min() {
            Some(at) => {
                select(changed, pin!(self.shared.clock.sleep_until(at))).await;
            }
            None => {
                changed.await;
            }
        }
    }

    fn went(&mut self, progress: LedgerCallResult) {
        let Err(setback) = progress else {
            self.failures = 0;
            return;
        };
        match setback {
            LedgerCallError::Store(error) => self.report(ElectionError::Store(error)),
            // The elector finds out for itself whether it is so; this makes it ask now.
            LedgerCallError::NotHolder => self.shared.send(DriverCommand::Input(self.shared.id, Input::Hint)),
            LedgerCallError::TooMany => self.error(JobError::TooMany),
        }
        self.failures = self.failures.saturating_add(1).min(FAILURES_COUNTED);
        self.not_before = self.shared.clock.now() + retry_after(self.failures, spread());
    }

    /// No call is waited for longer than a renewal would be.
    pub(super) async fn in_time<T>(&self, call: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
        self.shared.clock.within(self.patience, call).await.unwrap_or_else(|| Err(silence()))
    }

    /// The same for a batch of so many, each of which gets an answer.
    pub(super) async fn all_in_time<T>(&self, count: usize, call: BoxFuture<'_, Replies<T>>) -> Replies<T> {
        let mut replies = self.shared.clock.within(self.patience, call).await.unwrap_or_default();
        replies.resize_with(count, || Err(silence()));
        replies
    }

    pub(super) fn job_event(&self, index: usize, tick: Tick, job_event: JobEvent) {
        if let Some(job) = self.job(index) {
            let kind = EventKind::Job { job: job.name().clone(), tick, job_event };
            self.shared.send(DriverCommand::Job(self.shared.id, Box::new(kind)));
        }
    }

    pub(super) fn error(&self, error: JobError) {
        self.report(ElectionError::Job(error));
    }

    fn report(&self, error: ElectionError) {
        self.shared.send(DriverCommand::Error(self.shared.id, error));
    }
}

fn silence() -> StoreError {
    StoreError::unknown(StoreErrorKind::TimedOut, "the store did not answer in time when it was asked about jobs")
}
