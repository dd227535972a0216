//! The engine: the jobs of one candidate in one election.

mod absence;
mod due_queue;
mod ends;
mod grants;
mod input;
mod leadership;
mod output;
mod planning;
mod runs;
mod tick_record;
mod wall_clock;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::calendar::Calendar;
use super::event::{JobAnomaly, JobEvent};
use super::mutant::JobMutant;
use super::planner::Planner;
use super::request::Claimed;
use super::tick::Tick;
use crate::backoff::Backoff;
use crate::election::timing::Timing;
use crate::id::CandidateId;
use crate::lease::Term;
use crate::request::ElectionKey;
use crate::time::Instant;

use self::absence::AbsenceStage;
pub use self::input::{EndedAttempt, JobInput, JobMoment, JobSpec, LedgerReply};
use self::leadership::JobLeadership;
pub use self::output::{CallId, JobAlarm, JobAttempt, JobOutput, LedgerCall, RunId};
use self::tick_record::{PlannedClaim, TickKey, TickRecord};
use self::wall_clock::WallClock;

/// How many ticks are claimed at once, and how many ends are told.
const TOGETHER: usize = 100;
/// A wall clock that is set is noticed after this at the latest.
const SLEEP_LONGEST: Duration = Duration::from_secs(10);
/// The longest time for which the engine leaves a ledger alone that failed, on its own clock: ticks do not wait for it.
pub const MAX_LEDGER_REST: Duration = Duration::from_millis(3_200);
/// How long it leaves it alone.
const LEDGER_REST: Backoff = Backoff::RETRY.with_max(MAX_LEDGER_REST);

/// The jobs of one candidate in one election, under all its leaderships, as a pure state machine: it asks the
/// [`Planner`] of each job what is due, claims it in the ledger, lets it run, and tells the ledger how it ended, or that it never
/// began.
///
/// # Contract
/// - Call [`handle`](Self::handle) for everything that happens, then [`poll_output`](Self::poll_output) until it returns
///   [`JobOutput::Timeout`] or [`JobOutput::Finished`]. Outputs are carried out in their order.
/// - The [moment](JobMoment) of a call is read right before it. Leadership that ends shows there first: then `handle` is called
///   with [`JobInput::Timeout`]. Nothing begins under a term that is not led under at that very moment.
/// - One call is under way at a time. It is answered at most once, under its own id; answers may be late or lost, or have an id
///   that is no longer waited for. The caller need not time out calls: the engine does.
/// - Attempts end once, each under its own id.
///
/// What was claimed under a leadership begins under it, or is given back. A claim of which nobody knows what became of it keeps
/// the lease from being released until it is either.
#[derive(Debug, Clone)]
pub struct JobEngine<C> {
    key: ElectionKey,
    candidate: CandidateId,
    /// No call is waited for longer than a renewal would be.
    patience: Duration,
    grace: Duration,
    ttl: Duration,
    now: Instant,
    unix_ms: u64,
    leads: Option<Term>,
    spread: u32,
    wall_clock: WallClock,
    slots: Vec<JobSlot<C>>,
    /// They are taken over when no call is under way.
    new_jobs: Option<Vec<JobSpec<C>>>,
    leadership: Option<JobLeadership>,
    ticks: BTreeMap<TickKey, TickRecord>,
    call: Option<PendingCall>,
    /// A tick was given back since the ledger was last asked how jobs stand.
    gave_back: bool,
    failures: u32,
    not_before: Instant,
    has_left: bool,
    last_call: u64,
    last_run: u64,
    last_turn: u64,
    outputs: VecDeque<JobOutput>,
    #[cfg(mutants)]
    pub(super) mutant: Option<JobMutant>,
}

/// A job that the candidate has or had. It keeps its place, so that ticks of it can be told apart.
#[derive(Debug, Clone)]
struct JobSlot<C> {
    spec: JobSpec<C>,
    /// Whether it has it still.
    is_current: bool,
    /// Up to where it was decided when the ledger last named the jobs it knows; `None` if it knew none of this schedule.
    known_mark: Option<Tick>,
    /// `None` unless its leader knows how it stands.
    planner: Option<Planner>,
    /// The first tick that waits for a run to end, while the jobs are opened again under the same leadership.
    queued: Option<Tick>,
}

impl<C> JobSlot<C> {
    fn new(spec: JobSpec<C>) -> Self {
        Self { spec, is_current: true, known_mark: None, planner: None, queued: None }
    }

    /// Closes it, and keeps what waits.
    fn close(&mut self) {
        if let Some(planner) = self.planner.take() {
            self.queued = planner.queued();
        }
    }
}

/// A call that is under way.
#[derive(Debug, Clone)]
struct PendingCall {
    id: CallId,
    sent_at: Instant,
    /// What the wall clock showed then.
    unix_ms: u64,
    question: Question,
}

#[derive(Debug, Clone)]
enum Question {
    /// Which jobs are known?
    List,
    /// Write down which of them are absent.
    Note,
    /// How do the jobs stand?
    Open {
        is_learnt: bool,
    },
    Claim(Vec<PlannedClaim>),
    Finish(Vec<TickKey>),
}

/// Why nothing came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LedgerFailure {
    /// It failed. Whoever carried it out knows why.
    Failed,
    /// There was no answer in time, or none for all that was asked.
    Unanswered,
    /// Somebody else holds the lease.
    NotHolder,
    /// The ledger keeps no more jobs.
    TooMany,
}

impl<C: Calendar> JobEngine<C> {
    /// The engine of a candidate that has no jobs yet, and leads nothing.
    #[must_use]
    pub fn new(key: ElectionKey, candidate: CandidateId, timing: &Timing) -> Self {
        Self {
            key,
            candidate,
            patience: timing.attempt_timeout(),
            grace: timing.grace(),
            ttl: timing.ttl(),
            now: Instant::ZERO,
            unix_ms: 0,
            leads: None,
            spread: 0,
            wall_clock: WallClock::default(),
            slots: Vec::new(),
            new_jobs: None,
            leadership: None,
            ticks: BTreeMap::new(),
            call: None,
            gave_back: false,
            failures: 0,
            not_before: Instant::ZERO,
            has_left: false,
            last_call: 0,
            last_run: 0,
            last_turn: 0,
            outputs: VecDeque::new(),
            #[cfg(mutants)]
            mutant: None,
        }
    }

    /// Handles an input at this moment.
    pub fn handle(&mut self, moment: JobMoment, input: JobInput<C>) {
        let JobMoment { now, unix_ms, leads, spread } = moment;
        self.now = now.max(self.now);
        (self.unix_ms, self.leads, self.spread) = (unix_ms, leads, spread);
        self.notice_end();
        self.give_up_call();
        match input {
            // What is left is the answer to the last call.
            JobInput::Jobs(_) | JobInput::Elected { .. } | JobInput::RunsEnded(_) if self.has_left => {}
            JobInput::Timeout => {}
            JobInput::Jobs(jobs) => self.new_jobs = Some(jobs),
            JobInput::Elected { nonce, term } => self.elected(nonce, term),
            JobInput::Over => self.over(),
            JobInput::Reply { call, reply } => self.reply(call, reply),
            JobInput::RunsEnded(ended) => ended.into_iter().for_each(|ended| self.attempt_ended(ended)),
            JobInput::Left => self.leave(),
        }
        self.advance();
    }

    /// Returns the next thing to do, or when to call again.
    pub fn poll_output(&mut self) -> JobOutput {
        let output = self.outputs.pop_front();
        if self.outputs.is_empty() {
            // A process may stand in ten thousand elections that are silent most of the time.
            self.outputs = VecDeque::new();
        }
        output.unwrap_or_else(|| JobOutput::Timeout(self.alarm()))
    }

    /// Does what is due.
    fn advance(&mut self) {
        if self.has_left {
            return;
        }
        if self.call.is_none() {
            self.take_jobs();
        }
        self.enforce_limits();
        match &self.leadership {
            Some(leadership) if leadership.is_ending => {
                self.stop_resting();
                self.give_back_doubtful();
            }
            Some(_) => self.retry(),
            None => self.grow_old(),
        }
        if self.call.is_none() && self.now >= self.not_before {
            self.ask_next();
        }
        self.release();
    }

    /// One call to the ledger, if there is anything to tell or to ask.
    fn ask_next(&mut self) {
        if self.tell() {
            return;
        }
        // Nothing more begins.
        let Some(leadership) = self.led() else { return };
        let learn_at = leadership.learn_at;
        if !leadership.is_open || leadership.doubts_marks(self.now) {
            return self.open_next();
        }
        let gave_back = std::mem::take(&mut self.gave_back) && !self.has(JobMutant::NeverOpensAgain);
        if gave_back || learn_at <= self.now {
            return self.ask_standings(true);
        }
        self.plan();
    }

    /// Takes over the jobs that are new or changed, and drops those that are gone.
    fn take_jobs(&mut self) {
        let Some(jobs) = self.new_jobs.take() else { return };
        self.slots.iter_mut().for_each(|slot| slot.is_current = false);
        for spec in jobs {
            match self.slots.iter_mut().find(|slot| slot.spec.policy.job == spec.policy.job) {
                Some(slot) => {
                    slot.close();
                    (slot.spec, slot.is_current) = (spec, true);
                }
                None => self.slots.push(JobSlot::new(spec)),
            }
        }
        self.close();
        if self.has(JobMutant::ReloadDropsQueued) {
            self.slots.iter_mut().for_each(|slot| slot.queued = None);
        }
        // Others may be absent now.
        self.set_absence(AbsenceStage::Unknown);
    }

    fn call(&mut self, question: Question, call: LedgerCall) {
        self.last_call += 1;
        let id = CallId(self.last_call);
        self.call = Some(PendingCall { id, sent_at: self.now, unix_ms: self.unix_ms, question });
        self.emit(JobOutput::Call { id, call });
    }

    fn reply(&mut self, id: CallId, reply: LedgerReply) {
        let any = self.has(JobMutant::TakesAnyGrant) && reply.grants();
        let Some(pending) = self.call.take_if(|pending| pending.id == id || any) else { return };
        let went = match (&pending.question, reply) {
            (Question::List, LedgerReply::Listed(listed)) => self.listed(listed),
            (Question::Note, LedgerReply::Opened(opened)) => self.noted(&opened),
            (Question::Open { is_learnt }, LedgerReply::Opened(opened)) => {
                self.opened(opened, *is_learnt, pending.unix_ms)
            }
            (Question::Claim(planned), LedgerReply::Claimed(replies)) => {
                self.claimed(planned, &replies, pending.unix_ms)
            }
            (Question::Finish(keys), LedgerReply::Finished(replies)) => self.finished(keys, &replies, pending.sent_at),
            // It answers something else.
            (
                _,
                LedgerReply::Listed(_) | LedgerReply::Opened(_) | LedgerReply::Claimed(_) | LedgerReply::Finished(_),
            ) => {
                self.call = Some(pending);
                return;
            }
        };
        self.went(went);
    }

    /// A call that was not answered in time is not waited for any longer, and may have had its effect.
    fn give_up_call(&mut self) {
        if self.gives_up_at().is_none_or(|at| self.now < at) {
            return;
        }
        let Some(pending) = self.call.take() else { return };
        let went = match &pending.question {
            Question::List | Question::Note | Question::Open { .. } => Err(LedgerFailure::Unanswered),
            Question::Claim(planned) if self.has(JobMutant::SilenceGrants) => {
                self.claimed(planned, &vec![Ok(Claimed::Granted); planned.len()], pending.unix_ms)
            }
            Question::Claim(planned) => self.claimed(planned, &[], pending.unix_ms),
            Question::Finish(keys) => self.finished(keys, &[], pending.sent_at),
        };
        self.went(went);
    }

    /// When the call that is under way is not waited for any longer.
    fn gives_up_at(&self) -> Option<Instant> {
        let pending = self.call.as_ref()?;
        let waits = self.has(JobMutant::AsksOnce) && matches!(pending.question, Question::Claim(_));
        (!waits).then(|| pending.sent_at + self.patience)
    }

    fn went(&mut self, went: Result<(), LedgerFailure>) {
        if self.has_left {
            return self.emit(JobOutput::Finished);
        }
        let Err(setback) = went else {
            self.failures = 0;
            return;
        };
        match setback {
            LedgerFailure::Failed => {}
            LedgerFailure::Unanswered => self.emit(JobOutput::Report(JobAnomaly::Unanswered)),
            LedgerFailure::NotHolder => self.emit(JobOutput::Hint),
            LedgerFailure::TooMany => self.emit(JobOutput::Report(JobAnomaly::TooMany)),
        }
        self.failures = self.failures.saturating_add(1);
        self.not_before = self.now + LEDGER_REST.delay(self.failures, self.spread);
    }

    /// When something may have to be done.
    fn alarm(&self) -> JobAlarm {
        let (mut at, mut unix_ms) = (Vec::new(), None);
        at.extend(self.gives_up_at());
        if self.has_left {
            return JobAlarm { at: at.into_iter().min(), unix_ms };
        }
        at.extend(self.ticks.values().filter_map(TickRecord::deadline));
        if self.call.is_none() {
            let next = |at: Instant| at.max(self.not_before);
            at.extend(self.ticks.values().filter_map(TickRecord::tell_at).map(next));
            if let Some(leadership) = self.leadership.as_ref().filter(|leadership| !leadership.is_ending) {
                let (look, due_ms) = leadership.looks_at(self.now, self.unix_ms);
                at.push(next(look));
                unix_ms = due_ms.filter(|_| self.now >= self.not_before);
            }
        }
        JobAlarm { at: at.into_iter().min(), unix_ms }
    }

    fn event(&mut self, job: usize, tick: Tick, event: JobEvent) {
        let job = self.slots[job].spec.policy.job.clone();
        self.emit(JobOutput::Event { job, tick, event });
    }

    fn emit(&mut self, output: JobOutput) {
        self.outputs.push_back(output);
    }
}
