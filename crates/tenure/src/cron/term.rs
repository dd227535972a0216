//! The jobs under one leadership: what to claim next, and what follows from the answers. Plain rules: no clock, no store, no
//! waiting.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::jobs::{Act, Claimed, JobStanding, Passed, Planner, PlannerStep, Tick};
use tenure_core::{Instant, Nonce};

use super::due_queue::DueQueue;
use super::job::Job;
use crate::leadership::{Leadership, Work};

/// A mark that is further in the future than this was set by a clock that was wrong.
const MARK_AHEAD_MAX: Duration = Duration::from_secs(60 * 60);

/// How long it takes until a job with such a mark fires after somebody has made the ledger forget it.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// How often the ledger is asked whether a tick was given back, or somebody wants something of a job.
const LEARN_EVERY: Duration = Duration::from_secs(10);

/// What is to be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlannedClaim {
    /// Of which job.
    pub(super) index: usize,
    pub(super) tick: Tick,
    pub(super) act: Act,
    /// Whether an earlier leader may have begun it.
    pub(super) again: bool,
    /// How many ticks are left out with it.
    pub(super) missed: u64,
    pub(super) late: Option<Duration>,
    /// How many ticks are passed over, and why, unless it is run.
    pub(super) passed: Option<(u64, Passed)>,
}

/// One leadership.
#[derive(Debug)]
pub(super) struct JobTerm {
    pub(super) leadership: Leadership,
    pub(super) nonce: Nonce,
    /// By job; `None` until the ledger has told how they stand.
    planners: Option<Vec<Planner>>,
    due: DueQueue,
    /// What has been asked and not been answered.
    asked: Vec<PlannedClaim>,
    /// Runs of which nobody knows whether they were claimed, because the answer was lost.
    doubtful: BTreeSet<(usize, Tick)>,
    /// Runs that are not begun under this term any more: telling so may be under way.
    given_back: BTreeSet<(usize, Tick)>,
    /// Keeps the lease from being released while there are ticks that may have been claimed and have not begun.
    hold: Option<Arc<Work>>,
    /// When to ask how the jobs stand; `None` until they are open.
    learn_at: Option<Instant>,
    /// Jobs whose mark was reported.
    ahead: Vec<bool>,
    /// When to ask how jobs stand that do not fire because of their marks.
    doubt_at: Option<Instant>,
    pub(super) told_of_clock: bool,
}

impl JobTerm {
    pub(super) fn new(leadership: Leadership, nonce: Nonce) -> Self {
        Self {
            leadership,
            nonce,
            planners: None,
            due: DueQueue::default(),
            asked: Vec::new(),
            doubtful: BTreeSet::new(),
            given_back: BTreeSet::new(),
            hold: None,
            learn_at: None,
            ahead: Vec::new(),
            doubt_at: None,
            told_of_clock: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.planners.is_some()
    }

    /// The ledger does not know the jobs any more: they are to be opened again.
    pub(super) fn close(&mut self) {
        self.planners = None;
    }

    /// The ledger has told how the jobs stand. Of some, runs of an earlier leadership may still go on here.
    pub(super) fn open<'a>(
        &mut self,
        jobs: impl Iterator<Item = &'a Job>,
        standings: Vec<JobStanding>,
        running: impl Iterator<Item = usize>,
    ) {
        let planner = |(job, standing): (&Job, JobStanding)| Planner::new(job.policy().clone(), standing);
        let mut planners: Vec<Planner> = jobs.zip(standings).map(planner).collect();
        for index in running {
            if let Some(planner) = planners.get_mut(index) {
                planner.still_running();
            }
        }
        self.due = DueQueue::new(planners.len());
        self.ahead.resize(planners.len(), false);
        self.planners = Some(planners);
    }

    /// When to ask how jobs stand: a predecessor may have given back a tick by then, or somebody may have paused a job, resumed
    /// it or asked for a run.
    pub(super) fn learn_at(&self) -> Option<Instant> {
        self.learn_at
    }

    /// Asks again after a while. Each time is for one attempt.
    pub(super) fn learn_later(&mut self, now: Instant) {
        self.learn_at = Some(now + LEARN_EVERY);
    }

    /// The ledger has told how the jobs stand by now.
    pub(super) fn learn(&mut self, standings: Vec<JobStanding>) {
        for (index, standing) in standings.into_iter().enumerate() {
            if let Some(planner) = self.planner(index) {
                planner.learn(standing);
                self.due.set(index, Some(0));
            }
        }
    }

    /// A run has ended.
    pub(super) fn ended(&mut self, index: usize) {
        if let Some(planner) = self.planner(index) {
            planner.ended();
            self.due.set(index, Some(0));
        }
    }

    /// The wall clock was set: everything may be due, or have a mark in the future.
    pub(super) fn look_at_all(&mut self) {
        self.due.all_now();
    }

    /// When there may be something to claim, in milliseconds since the Unix epoch.
    pub(super) fn next_look(&self) -> Option<u64> {
        self.due.next()
    }

    /// What to claim now, at most so much.
    pub(super) fn planned_claims(
        &mut self,
        job: impl Fn(usize) -> Option<Arc<Job>>,
        unix_ms: u64,
        max: usize,
    ) -> Vec<PlannedClaim> {
        let mut planned_claims = Vec::new();
        while planned_claims.len() < max
            && let Some(index) = self.due.first_due(unix_ms)
        {
            let planner = self.planners.as_mut().and_then(|planners| planners.get_mut(index));
            let (Some(planner), Some(job)) = (planner, job(index)) else {
                self.due.set(index, None);
                continue;
            };
            let tick = Tick::default();
            let planned =
                PlannedClaim { index, tick, act: Act::Pass, again: false, missed: 0, late: None, passed: None };
            let next = match planner.next(job.schedule(), unix_ms) {
                PlannerStep::Wait { until_unix_ms } => {
                    self.due.set(index, until_unix_ms);
                    continue;
                }
                PlannerStep::Pass { tick, count, why } => {
                    PlannedClaim { tick, act: why.act(), missed: count, passed: Some((count, why)), ..planned }
                }
                PlannerStep::Run { tick, act, missed, late } => {
                    let again = act == Act::RunAgain && !planner.never_began(tick);
                    PlannedClaim { tick, act, again, missed, late, ..planned }
                }
            };
            // It is looked at again when there is an answer.
            self.due.set(index, None);
            planned_claims.push(next);
        }
        planned_claims
    }

    /// Whether it is time to ask how jobs stand: somebody may have forgotten those that had a mark in the future.
    pub(super) fn doubts_marks(&self, now: Instant) -> bool {
        self.doubt_at.is_some_and(|at| at <= now)
    }

    /// The marks that are in the future and have not been reported.
    pub(super) fn marks_ahead(&mut self, now: Instant, unix_ms: u64) -> Vec<(usize, Tick)> {
        let marks = self.planners.iter().flatten().map(Planner::mark).enumerate();
        let found: Vec<_> = marks.filter(|(_, mark)| mark.ahead_of(unix_ms) > MARK_AHEAD_MAX).collect();
        self.doubt_at = (!found.is_empty()).then(|| now + ASK_AGAIN_AFTER);
        let is_new = |(index, _): &(usize, Tick)| {
            self.ahead.get_mut(*index).is_some_and(|reported| !std::mem::replace(reported, true))
        };
        found.into_iter().filter(is_new).collect()
    }

    /// Keeps the lease from being released until what is asked next is settled. False if nothing may begin any more.
    pub(super) fn hold(&mut self) -> bool {
        if self.hold.is_none() {
            self.hold = self.leadership.begin_work().map(Arc::new);
        }
        self.is_held()
    }

    pub(super) fn is_held(&self) -> bool {
        self.hold.is_some()
    }

    /// What keeps the lease from being released, for whatever has to be done before.
    pub(super) fn held(&self) -> Option<Arc<Work>> {
        self.hold.clone()
    }

    /// All that was asked has been answered. As long as nobody knows what became of some of it, the lease is kept.
    pub(super) fn release(&mut self) {
        if self.doubtful.is_empty() {
            self.hold = None;
        }
    }

    /// This is being asked. If no answer is taken in, nobody knows what became of it.
    pub(super) fn ask(&mut self, planned_claims: &[PlannedClaim]) {
        self.asked = planned_claims.to_vec();
    }

    /// What the ledger has said. Returns the ticks that may have been claimed before, and are not wanted any more.
    pub(super) fn answered(&mut self, planned: &PlannedClaim, reply: Claimed) -> Vec<Tick> {
        self.settle(planned);
        if let Some(planner) = self.planner(planned.index) {
            planner.claimed(planned.tick, planned.act, reply);
        }
        match reply {
            Claimed::Granted | Claimed::Decided { .. } => {
                // The same tick is run now, or was decided by somebody else; if it is passed over, it may still count as begun.
                if planned.act.is_run() {
                    self.doubtful.remove(&(planned.index, planned.tick));
                }
                self.take_unwanted(planned.index)
            }
            Claimed::Early { .. } | Claimed::Paused | Claimed::Unopened | Claimed::NotHolder => Vec::new(),
        }
    }

    /// The question surely had no effect, and so no tick is unwanted.
    pub(super) fn refused(&mut self, planned: &PlannedClaim) -> Vec<Tick> {
        self.settle(planned);
        Vec::new()
    }

    /// The question may have had its effect. Returns the ticks of which the same is true, and that are not wanted any more.
    pub(super) fn unanswered(&mut self, planned: &PlannedClaim) -> Vec<Tick> {
        self.settle(planned);
        if !planned.act.is_run() {
            return Vec::new();
        }
        self.doubtful.remove(&(planned.index, planned.tick));
        let unwanted = self.take_unwanted(planned.index);
        self.doubtful.insert((planned.index, planned.tick));
        unwanted
    }

    /// The doubtful ticks of a job that are behind its mark. What is yet to come will be claimed once more, and what is given
    /// back is not begun under this term.
    fn take_unwanted(&mut self, index: usize) -> Vec<Tick> {
        let Some(mark) = self.planner(index).map(|planner| planner.mark()) else { return Vec::new() };
        let is_behind = |(of, tick): &(usize, Tick)| *of == index && *tick <= mark;
        self.doubtful.extract_if(.., is_behind).map(|(_, tick)| tick).collect()
    }

    /// A tick is given back.
    pub(super) fn gives_back(&mut self, index: usize, tick: Tick) {
        self.given_back.insert((index, tick));
    }

    /// Begins work on a tick that was granted; `None` when it is too late for that.
    pub(super) fn begin(&self, planned: &PlannedClaim) -> Option<Work> {
        // A job that was forgotten begins anew, perhaps with a tick that it had let go of.
        if self.given_back.contains(&(planned.index, planned.tick)) { None } else { self.leadership.begin_work() }
    }

    /// All ticks of which nobody knows whether they were claimed.
    pub(super) fn take_doubtful(&mut self) -> BTreeSet<(usize, Tick)> {
        let asked = std::mem::take(&mut self.asked).into_iter().filter(|planned| planned.act.is_run());
        let mut doubtful = std::mem::take(&mut self.doubtful);
        doubtful.extend(asked.map(|planned| (planned.index, planned.tick)));
        doubtful
    }

    fn settle(&mut self, planned: &PlannedClaim) {
        self.asked.retain(|asked| asked.index != planned.index);
        self.due.set(planned.index, Some(0));
    }

    fn planner(&mut self, index: usize) -> Option<&mut Planner> {
        self.planners.as_mut().and_then(|planners| planners.get_mut(index))
    }
}
