//! One leadership: how the jobs stand, and whether the lease has to be kept.

use std::time::Duration;

use super::absence::AbsenceStage;
use super::due_queue::DueQueue;
use super::tick_record::{PlannedClaim, TickStage};
use super::{JobEngine, JobOutput, LedgerCall, LedgerFailure, Question, SLEEP_LONGEST};
use crate::election::input::WriteOutcome;
use crate::jobs::calendar::Calendar;
use crate::jobs::event::JobAnomaly;
use crate::jobs::mutant::JobMutant;
use crate::jobs::planner::Planner;
use crate::jobs::request::{OpenJob, OpenJobs, Opened, OpenedJob};
use crate::jobs::tick::Tick;
use crate::lease::{Nonce, Term};
use crate::time::Instant;

/// A mark that is further in the future than this was set by a clock that was wrong.
const MAX_MARK_AHEAD: Duration = Duration::from_secs(60 * 60);
/// How long it takes until a job with such a mark fires after somebody has made the ledger forget it.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// How often the ledger is asked whether a tick was given back, or somebody wants something of a job.
const LEARN_EVERY: Duration = Duration::from_secs(10);

/// One leadership.
#[derive(Debug, Clone)]
pub(super) struct JobLeadership {
    pub(super) nonce: Nonce,
    pub(super) term: Term,
    /// Nothing more begins under it.
    pub(super) is_ending: bool,
    /// Whether the ledger has told how the jobs stand.
    pub(super) is_open: bool,
    /// What has to be known before they are opened.
    pub(super) absence: AbsenceStage,
    pub(super) due: DueQueue,
    /// What will be claimed when all is planned that is due.
    pub(super) planned: Vec<PlannedClaim>,
    /// Whether the lease is kept from being released.
    pub(super) is_held: bool,
    /// When to ask how the jobs stand, once they are open.
    pub(super) learn_at: Instant,
    /// The places of jobs whose mark was reported.
    marks_reported: Vec<usize>,
    /// When to ask how jobs stand that do not fire because of their marks.
    doubt_at: Option<Instant>,
    pub(super) clock_reported: bool,
}

impl JobLeadership {
    fn new(nonce: Nonce, term: Term) -> Self {
        Self {
            nonce,
            term,
            is_ending: false,
            is_open: false,
            absence: AbsenceStage::Unknown,
            due: DueQueue::default(),
            planned: Vec::new(),
            is_held: false,
            learn_at: Instant::ZERO,
            marks_reported: Vec::new(),
            doubt_at: None,
            clock_reported: false,
        }
    }

    /// Whether it is time to ask how jobs stand: somebody may have forgotten those that had a mark in the future.
    pub(super) fn doubts_marks(&self, now: Instant) -> bool {
        self.doubt_at.is_some_and(|at| at <= now)
    }

    /// When there may be something to ask or to claim, on either clock.
    pub(super) fn looks_at(&self, now: Instant, unix_ms: u64) -> (Instant, Option<u64>) {
        let due_ms = self.due.next();
        if !self.is_open || !self.planned.is_empty() || due_ms.is_some_and(|due_ms| due_ms <= unix_ms) {
            return (now, None);
        }
        let at = (now + SLEEP_LONGEST).min(self.learn_at);
        (self.doubt_at.map_or(at, |doubt_at| at.min(doubt_at)), due_ms)
    }

    /// Something about a job has changed. What is claimed anyway is looked at when that is answered.
    pub(super) fn look_at(&mut self, job: usize) {
        if self.planned.iter().all(|planned| planned.job != job) {
            self.due.set(job, Some(0));
        }
    }
}

impl<C: Calendar> JobEngine<C> {
    pub(super) fn elected(&mut self, nonce: Nonce, term: Term) {
        self.over();
        self.leadership = Some(JobLeadership::new(nonce, term));
        self.notice_end();
    }

    /// Once work under a term has to stop, nothing more begins under it.
    pub(super) fn notice_end(&mut self) {
        let leads = self.leads;
        if self.has(JobMutant::RunsAfterLoss) {
            return;
        }
        if let Some(leadership) = self.leadership.as_mut().filter(|leadership| leads != Some(leadership.term)) {
            leadership.is_ending = true;
            leadership.planned.clear();
        }
    }

    /// The leadership is over, and so is the time of its runs.
    pub(super) fn over(&mut self) {
        let Some(leadership) = &mut self.leadership else { return };
        leadership.is_ending = true;
        self.stop_resting();
        // Only ends may be told by a leader that leads no more.
        let pending = self.call.take_if(|pending| !matches!(pending.question, Question::Finish(_)));
        if let Some(Question::Claim(planned)) = pending.map(|pending| pending.question) {
            planned.iter().for_each(|planned| self.settle(planned, Err(WriteOutcome::Unknown)));
        }
        self.give_back_doubtful();
        self.mark_overdue();
        let Some(JobLeadership { term, is_held, .. }) = self.leadership.take() else { return };
        self.slots.iter_mut().for_each(|slot| (slot.planner, slot.queued) = (None, None));
        self.ticks.retain(|key, record| key.term != term || !matches!(record.stage, TickStage::GivenBack));
        self.grow_old();
        if is_held {
            self.emit(JobOutput::Release { term });
        }
    }

    /// The candidate has left. What has not been told by now is told once.
    pub(super) fn leave(&mut self) {
        self.over();
        if std::mem::replace(&mut self.has_left, true) {
            return;
        }
        self.call = None;
        self.tell_all_doubted();
        if !self.tell() {
            self.emit(JobOutput::Finished);
        }
    }

    /// The ledger does not know the jobs any more, or they are others: they are to be opened again.
    pub(super) fn close(&mut self) {
        self.slots.iter_mut().for_each(super::JobSlot::close);
        if let Some(leadership) = &mut self.leadership {
            leadership.is_open = false;
            leadership.planned.clear();
        }
    }

    /// Says which jobs there are, and hears how they stand, or which ticks were given back by now.
    pub(super) fn ask_standings(&mut self, is_learnt: bool) {
        let present = Tick::at_or_before_ms(self.unix_ms);
        let open = |slot: &super::JobSlot<C>| {
            // A job that is known goes on from where it stands, even if a request of another edition that was under way for
            // long comes in between: a schedule that differs would begin at the present.
            let open = slot.planner.as_ref().filter(|_| is_learnt).map(Planner::mark);
            let mark = open.or(slot.known_mark);
            let (job, schedule) = (slot.spec.policy.job.clone(), slot.spec.schedule.clone());
            let mark = mark.filter(|_| !self.has(JobMutant::BackAtPresent));
            OpenJob { job, schedule, from: mark.map_or(present, |mark| mark.min(present)) }
        };
        let jobs = self.slots.iter().filter(|slot| slot.is_current).map(open).collect();
        let learn_at = self.next_learn();
        let Some(leadership) = &mut self.leadership else { return };
        // Should it fail, ticks that are due do not wait for it.
        leadership.learn_at = learn_at;
        // All jobs are looked at when it is answered.
        leadership.planned.clear();
        leadership.due.all_now();
        let (nonce, term) = (leadership.nonce, leadership.term);
        self.gave_back = false;
        let request = OpenJobs { key: self.key.clone(), nonce, term, jobs };
        self.call(Question::Open { is_learnt }, LedgerCall::Open(request));
    }

    pub(super) fn opened(
        &mut self,
        opened: Result<Opened, WriteOutcome>,
        is_learnt: bool,
        unix_ms: u64,
    ) -> Result<(), LedgerFailure> {
        let opened = match opened {
            Ok(Opened::Jobs(opened)) => opened,
            Ok(Opened::NotHolder) => return Err(LedgerFailure::NotHolder),
            Ok(Opened::TooMany) => return Err(LedgerFailure::TooMany),
            Err(_) => return Err(LedgerFailure::Failed),
        };
        if is_learnt {
            self.learn(opened);
        } else {
            self.open(opened);
            self.report_marks(unix_ms);
        }
        let learn_at = self.next_learn();
        if let Some(leadership) = &mut self.leadership {
            leadership.learn_at = learn_at;
        }
        Ok(())
    }

    fn next_learn(&self) -> Instant {
        if self.has(JobMutant::NeverOpensAgain) { Instant::FAR_FUTURE } else { self.now + LEARN_EVERY }
    }

    /// The ledger has told how the jobs stand. Of some, runs of an earlier leadership may still go on here.
    fn open(&mut self, opened: Vec<OpenedJob>) {
        let Some(leadership) = &mut self.leadership else { return };
        (leadership.is_open, leadership.due) = (true, DueQueue::new(self.slots.len()));
        let current = self.slots.iter_mut().filter(|slot| slot.is_current);
        for (slot, opened) in current.zip(opened) {
            slot.close();
            let mut planner = Planner::new(slot.spec.policy.clone(), opened);
            if let Some(queued) = slot.queued.take() {
                planner.wait_with(queued, &slot.spec.calendar);
            }
            slot.planner = Some(planner);
            #[cfg(mutants)]
            slot.planner.as_mut().into_iter().for_each(|planner| planner.mutate(self.mutant));
        }
        let counts = !self.has(JobMutant::ReloadForgetsRuns);
        for (key, _) in self.ticks.iter().filter(|(_, record)| counts && record.is_running()) {
            if let Some(planner) = &mut self.slots[key.job].planner {
                planner.still_running();
            }
        }
    }

    /// The ledger has told how the jobs stand by now.
    fn learn(&mut self, opened: Vec<OpenedJob>) {
        let current = self.slots.iter_mut().filter(|slot| slot.is_current);
        for (slot, opened) in current.zip(opened) {
            if let Some(planner) = &mut slot.planner {
                planner.learn(opened);
            }
        }
    }

    /// Tells once of each mark that is far in the future.
    pub(super) fn report_marks(&mut self, unix_ms: u64) {
        let Some(leadership) = &mut self.leadership else { return };
        let marks =
            self.slots.iter().enumerate().filter_map(|(job, slot)| Some((job, slot, slot.planner.as_ref()?.mark())));
        leadership.doubt_at = None;
        for (job, slot, mark) in marks.filter(|(.., mark)| mark.ahead_of(unix_ms) > MAX_MARK_AHEAD) {
            leadership.doubt_at = Some(self.now + ASK_AGAIN_AFTER);
            if !leadership.marks_reported.contains(&job) {
                leadership.marks_reported.push(job);
                let job = slot.spec.policy.job.clone();
                self.outputs.push_back(JobOutput::Report(JobAnomaly::MarkAhead { job, mark }));
            }
        }
    }

    /// Keeps the lease from being released until what is asked next is settled.
    pub(super) fn hold(&mut self) {
        let Some(leadership) = self.leadership.as_mut().filter(|leadership| !leadership.is_held) else { return };
        leadership.is_held = true;
        let term = leadership.term;
        self.emit(JobOutput::Hold { term });
    }

    /// Lets the lease be released once nothing needs it. As long as nobody knows what became of a claim, it is kept.
    pub(super) fn release(&mut self) {
        let asks = self.call.as_ref().is_some_and(|pending| matches!(pending.question, Question::Claim(_)));
        let Some(leadership) = self.leadership.as_mut().filter(|leadership| leadership.is_held) else { return };
        let term = leadership.term;
        if asks || self.ticks.iter().any(|(key, record)| key.term == term && record.holds_lease()) {
            return;
        }
        leadership.is_held = false;
        self.emit(JobOutput::Release { term });
    }

    /// The leadership, as long as something may begin under it.
    pub(super) fn led(&self) -> Option<&JobLeadership> {
        self.leadership.as_ref().filter(|leadership| !leadership.is_ending)
    }
}
