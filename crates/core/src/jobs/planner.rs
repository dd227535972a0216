//! What to do next about one job.

use std::collections::BTreeMap;
use std::time::Duration;

use super::calendar::Calendar;
use super::correction::Correction;
#[cfg(mutants)]
use super::mutant::JobMutant;
use super::policy::{Interrupted, JobPolicy, Missed, Overlap, Passed};
use super::request::{Act, Claimed, OpenedJob};
use super::tick::Tick;

/// One job under one leadership.
///
/// The leader asks for the [next step](Self::next) whenever the wall clock has moved on or a run has ended, claims it in
/// the ledger, and tells the planner [the outcome](Self::claimed). The planner decides nothing alone: a step that is not
/// granted did not happen.
#[derive(Debug, Clone)]
pub struct Planner {
    policy: JobPolicy,
    mark: Tick,
    /// How many runs go on.
    running: usize,
    /// Ticks that are decided and may be run all the same.
    again: BTreeMap<Tick, Undone>,
    /// The first tick that had to wait for a run to end.
    queued: Option<Tick>,
    /// Whether somebody has paused the job.
    is_paused: bool,
    /// When somebody asked for a run beside the calendar.
    requested: Option<Tick>,
    /// What the ledger has said of the clock.
    correction: Correction,
    #[cfg(mutants)]
    mutant: Option<JobMutant>,
}

/// Why a tick that is decided may be run all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undone {
    /// An earlier leader was gone before its run ended.
    CutOff,
    /// It was claimed and given back.
    NeverBegun,
}

/// The next step of a planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannerStep {
    /// Nothing, until a run ends or this time has come.
    Wait {
        /// In milliseconds since the Unix epoch; `None` if only the end of a run can change anything.
        until_unix_ms: Option<u64>,
    },
    /// Claim a tick to be passed over.
    Pass {
        /// Which one; with it, all before it.
        tick: Tick,
        /// How many ticks that makes, as far as it is worth counting.
        count: u64,
        /// Why.
        why: Passed,
    },
    /// Claim a tick, and run the job.
    Run {
        /// Which one.
        tick: Tick,
        /// [`Act::Run`] or [`Act::RunAgain`].
        act: Act,
        /// How many ticks before it are passed over with it because they were missed.
        missed: u64,
        /// How late the run is, if that is more than the job allows.
        late: Option<Duration>,
    },
}

/// Nobody wants to know exactly how many more were missed, and counting them takes time.
const MAX_COUNT: u64 = 1_000;

impl Planner {
    /// Creates a planner that continues where the last leader left off.
    #[must_use]
    pub fn new(policy: JobPolicy, opened: OpenedJob) -> Self {
        let mut planner = Self {
            policy,
            mark: opened.mark,
            running: 0,
            again: BTreeMap::new(),
            queued: None,
            is_paused: false,
            requested: None,
            correction: Correction::default(),
            #[cfg(mutants)]
            mutant: None,
        };
        planner.learn(opened);
        planner
    }

    /// Updates the state of the job under the same leadership: a tick may have been given back. No claim may be in
    /// flight meanwhile.
    ///
    /// The mark stays as it is. If that of the ledger is higher, a claim of this leadership moved it and the answer was lost:
    /// it has to be found again, not passed over.
    pub fn learn(&mut self, opened: OpenedJob) {
        (self.is_paused, self.requested) = (opened.is_paused, opened.requested);
        // What this planner runs itself is in neither list.
        let cut_off = match self.policy.interrupted {
            Interrupted::Again => opened.interrupted,
            Interrupted::Leave => Vec::new(),
        };
        let unbegun = if self.policy.wants_unbegun() { opened.unbegun } else { Vec::new() };
        let cut_off = cut_off.into_iter().map(|tick| (tick, Undone::CutOff));
        self.again = cut_off.chain(unbegun.into_iter().map(|tick| (tick, Undone::NeverBegun))).collect();
    }

    /// All ticks up to this one are decided.
    #[must_use]
    pub fn mark(&self) -> Tick {
        self.mark
    }

    /// Whether this tick was claimed before, and surely never begun.
    #[must_use]
    pub fn never_began(&self, tick: Tick) -> bool {
        self.again.get(&tick) == Some(&Undone::NeverBegun)
    }

    /// Decides what to do at this moment of the wall clock, in milliseconds since the Unix epoch. Once the ledger has
    /// reported that the clock is ahead of the store's, that is compensated for.
    pub fn next(&mut self, calendar: &dyn Calendar, unix_ms: u64) -> PlannerStep {
        let corrected_ms = self.correction.read(unix_ms);
        match self.plan(calendar, corrected_ms) {
            PlannerStep::Wait { until_unix_ms } => {
                PlannerStep::Wait { until_unix_ms: until_unix_ms.map(|until| self.correction.shown_at(until)) }
            }
            step @ (PlannerStep::Pass { .. } | PlannerStep::Run { .. }) => {
                self.correction.asked(unix_ms);
                step
            }
        }
    }

    fn plan(&mut self, calendar: &dyn Calendar, unix_ms: u64) -> PlannerStep {
        if self.is_paused {
            return WAIT;
        }
        while let Some((&tick, &why)) = self.again.first_key_value()
            && !self.still_wants(calendar, tick, why, unix_ms)
        {
            self.again.pop_first();
        }
        if let (Some((&tick, _)), true) = (self.again.first_key_value(), self.policy.enabled) {
            if unix_ms < tick.unix_ms() {
                return PlannerStep::Wait { until_unix_ms: Some(tick.unix_ms()) };
            }
            let late = Some(tick.age_at(unix_ms));
            let run = PlannerStep::Run { tick, act: Act::RunAgain, missed: 0, late };
            return if self.may_begin() { run } else { WAIT };
        }
        let Some(tick) = calendar.next_after(self.mark) else {
            return self.on_request(Tick::MAX, unix_ms).unwrap_or(WAIT);
        };
        let due_ms = self.policy.due_ms(tick);
        if unix_ms < due_ms {
            return self.on_request(tick, unix_ms).unwrap_or(PlannerStep::Wait { until_unix_ms: Some(due_ms) });
        }
        if !self.policy.enabled {
            let last = self.last_due(calendar, tick, unix_ms);
            return PlannerStep::Pass { tick: last, count: count(calendar, tick, last), why: Passed::Disabled };
        }
        if self.is_late(tick, unix_ms) { self.catch_up(calendar, tick, unix_ms) } else { self.on_time(tick) }
    }

    /// Notes the ledger's reply to a [`PlannerStep::Run`] or [`PlannerStep::Pass`].
    pub fn claimed(&mut self, tick: Tick, act: Act, reply: Claimed) {
        match reply {
            Claimed::Granted => {
                self.mark = self.mark.max(tick);
                self.running += usize::from(act.is_run());
            }
            Claimed::Decided { mark } => self.mark = self.mark.max(mark),
            Claimed::Early { by } => return self.correction.refused(tick, by),
            Claimed::Paused => {
                self.is_paused = true;
                return;
            }
            // The same step comes again, later or under another leadership.
            Claimed::Unopened | Claimed::NotHolder => return,
        }
        if act == Act::RunAgain {
            self.again.remove(&tick);
        } else {
            self.requested.take_if(|requested| *requested <= tick && act == Act::Run);
        }
        self.queued.take_if(|queued| *queued <= self.mark);
    }

    /// The first tick that waits for a run to end.
    #[must_use]
    pub fn queued(&self) -> Option<Tick> {
        self.queued
    }

    /// Notes that this tick waited for a run to end when the job was closed, under the same leadership: it is not missed. One
    /// that is decided by now, or that the schedule does not have any more, waits for nothing.
    pub fn wait_with(&mut self, queued: Tick, calendar: &dyn Calendar) {
        let is_wanted = queued > self.mark && calendar.last_until(queued) == Some(queued);
        self.queued = Some(queued).filter(|_| is_wanted && self.waits_its_turn());
    }

    /// Notes that a run of an earlier leadership still goes on in the same process.
    pub fn still_running(&mut self) {
        self.running += 1;
    }

    /// A run has ended.
    pub fn ended(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// Whether a tick that is decided is still to be run.
    fn still_wants(&self, calendar: &dyn Calendar, tick: Tick, why: Undone, unix_ms: u64) -> bool {
        if tick.age_at(unix_ms) > self.policy.window {
            return false;
        }
        match (why, self.policy.interrupted, self.policy.missed) {
            (Undone::CutOff, ..) => true,
            // A tick of a schedule that was replaced no longer belongs to any job.
            (Undone::NeverBegun, ..) if calendar.last_until(tick) != Some(tick) => false,
            (Undone::NeverBegun, Interrupted::Again, _) | (Undone::NeverBegun, _, Missed::All) => true,
            // However many were missed, the latest is run.
            (Undone::NeverBegun, Interrupted::Leave, Missed::Once) => {
                let next = calendar.next_after(tick);
                tick == self.mark && next.is_none_or(|next| unix_ms < self.policy.due_ms(next))
            }
            (Undone::NeverBegun, Interrupted::Leave, Missed::Skip) => false,
        }
    }

    fn may_begin(&self) -> bool {
        self.running == 0 || self.policy.overlap == Overlap::Allow
    }

    #[cfg(not(mutants))]
    fn waits_its_turn(&self) -> bool {
        self.policy.waits_its_turn()
    }

    /// Whether a tick is so late that it counts as missed. With jitter, it may be due at any moment up to that.
    fn is_late(&self, tick: Tick, unix_ms: u64) -> bool {
        tick.age_at(unix_ms) > self.policy.jitter.saturating_add(self.policy.max_late)
    }

    /// A run that somebody asked for, while the next tick of the calendar is not due. It has a second of its own, between the
    /// mark and that tick: nothing of the calendar is decided with it. If there is none, the tick itself will do.
    fn on_request(&self, next: Tick, unix_ms: u64) -> Option<PlannerStep> {
        let requested = self.requested.filter(|_| self.may_begin())?;
        let latest = Tick::from_unix_s(next.unix_s().saturating_sub(1));
        let tick = Tick::at_or_before_ms(unix_ms).min(latest);
        let first = requested.max(Tick::from_unix_s(self.mark.unix_s() + 1));
        if tick >= first {
            return Some(PlannerStep::Run { tick, act: Act::Run, missed: 0, late: None });
        }
        (first <= latest)
            .then(|| PlannerStep::Wait { until_unix_ms: Some(first.unix_ms().min(self.policy.due_ms(next))) })
    }

    fn on_time(&mut self, tick: Tick) -> PlannerStep {
        if self.may_begin() {
            return PlannerStep::Run { tick, act: Act::Run, missed: 0, late: None };
        }
        if self.waits_its_turn() {
            self.queued.get_or_insert(tick);
            return WAIT;
        }
        PlannerStep::Pass { tick, count: 1, why: Passed::Overlap }
    }

    /// The first tick after the mark is late; others may be, too.
    fn catch_up(&mut self, calendar: &dyn Calendar, first: Tick, unix_ms: u64) -> PlannerStep {
        match self.policy.missed {
            Missed::Skip | Missed::Once if self.queued.is_some() => {
                let last = self.last_due(calendar, first, unix_ms);
                self.run_queued(calendar, first, last, unix_ms)
            }
            Missed::Skip => {
                let patience = self.policy.jitter.saturating_add(self.policy.max_late) + Duration::from_millis(1);
                let last = last_until(calendar, first, before(unix_ms, patience));
                PlannerStep::Pass { tick: last, count: count(calendar, first, last), why: Passed::Missed }
            }
            Missed::Once => {
                let last = self.last_due(calendar, first, unix_ms);
                if last.age_at(unix_ms) > self.policy.window {
                    return PlannerStep::Pass { tick: last, count: count(calendar, first, last), why: Passed::Missed };
                }
                self.run_late(last, count(calendar, first, last) - 1, unix_ms)
            }
            Missed::All if first.age_at(unix_ms) > self.policy.window => {
                let too_old = before(unix_ms, self.policy.window.saturating_add(Duration::from_millis(1)));
                let last = last_until(calendar, first, too_old);
                PlannerStep::Pass { tick: last, count: count(calendar, first, last), why: Passed::Missed }
            }
            Missed::All => self.run_late(first, 0, unix_ms),
        }
    }

    /// Of the ticks that waited for a run to end, the last one is run. Those before it were not missed: it took their place.
    fn run_queued(&mut self, calendar: &dyn Calendar, first: Tick, last: Tick, unix_ms: u64) -> PlannerStep {
        let before_last = calendar.last_until(Tick::from_unix_s(last.unix_s().saturating_sub(1)));
        match before_last.filter(|replaced| *replaced >= first && self.may_begin()) {
            Some(replaced) => {
                self.queued = Some(last);
                PlannerStep::Pass { tick: replaced, count: count(calendar, first, replaced), why: Passed::Replaced }
            }
            None => self.run_late(last, 0, unix_ms),
        }
    }

    fn run_late(&self, tick: Tick, missed: u64, unix_ms: u64) -> PlannerStep {
        let late = Some(Duration::from_millis(unix_ms.saturating_sub(self.policy.due_ms(tick))));
        if self.may_begin() {
            PlannerStep::Run { tick, act: Act::Run, missed, late }
        } else if self.waits_its_turn() {
            WAIT
        } else {
            PlannerStep::Pass { tick, count: missed + 1, why: Passed::Overlap }
        }
    }

    /// The last tick that is due whatever its jitter; `first` if that is later.
    fn last_due(&self, calendar: &dyn Calendar, first: Tick, unix_ms: u64) -> Tick {
        last_until(calendar, first, before(unix_ms, self.policy.jitter))
    }
}

#[cfg(mutants)]
impl Planner {
    /// Makes this planner make a mistake, if it is one of planners.
    pub(super) fn mutate(&mut self, mutant: Option<JobMutant>) {
        self.mutant = mutant;
    }

    fn waits_its_turn(&self) -> bool {
        let skips = self.mutant == Some(JobMutant::SkipsInsteadOfAll) && self.policy.overlap == Overlap::Skip;
        self.policy.waits_its_turn() && !skips
    }
}

const WAIT: PlannerStep = PlannerStep::Wait { until_unix_ms: None };

fn before(unix_ms: u64, by: Duration) -> Tick {
    Tick::at_or_before_ms(unix_ms.saturating_sub(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
}

fn last_until(calendar: &dyn Calendar, first: Tick, until: Tick) -> Tick {
    calendar.last_until(until).unwrap_or(first).max(first)
}

/// How many ticks there are from the first to the last, both included.
fn count(calendar: &dyn Calendar, first: Tick, last: Tick) -> u64 {
    let (mut tick, mut count) = (first, 1);
    while count < MAX_COUNT
        && let Some(next) = calendar.next_after(tick).filter(|next| *next <= last)
    {
        tick = next;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests;
