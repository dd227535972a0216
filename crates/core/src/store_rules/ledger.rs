//! A store's record of the jobs of one election, and the rules by which it changes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::id::JobName;
use crate::jobs::{
    Act, Claim, Claimed, Finish, JobOrder, JobReport, MAX_EARLY, MAX_JOBS, OpenJob, Opened, OpenedJob, RunEnd,
    RunOutcome, RunReport, Tick,
};
use crate::lease::{Nonce, Term};

/// The maximum number of runs kept of a job. Older ones are forgotten.
pub const MAX_RUNS: usize = 100;

/// The jobs of one election.
///
/// The sender of [`open`](Self::open) and [`claim`](Self::claim) must hold the lease: the store checks that, in the same
/// atomic step. Then a ledger rests on one thing: a mark only grows, and only a claim that moves it begins a run. What
/// may be run again is what was cut off, and what was given back because it had never begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// By name.
    pub jobs: BTreeMap<JobName, JobRecord>,
}

/// Everything a store knows of a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobRecord {
    /// The schedule, as reported by the last leader.
    pub schedule: Arc<str>,
    /// All ticks up to this one are decided.
    pub mark: Tick,
    /// The number of ticks that fired.
    pub fired: u64,
    /// The number of missed ticks, including those given back and not run since.
    pub missed: u64,
    /// The number of ticks that were passed over for another reason.
    pub skipped: u64,
    /// The start of the present pause.
    pub paused_at_unix_ms: Option<u64>,
    /// The time of a request for a run that has not started yet.
    pub requested: Option<Tick>,
    /// Its latest runs, the oldest first.
    pub runs: VecDeque<RunRecord>,
}

/// A run and its owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunRecord {
    /// The nonce that owns it, together with the term.
    pub nonce: Nonce,
    /// The public report.
    pub run: RunReport,
}

impl Ledger {
    /// Registers jobs for the leader of this term, at this moment of the store's wall clock.
    pub fn open(&mut self, jobs: &[OpenJob], term: Term, unix_ms: u64) -> Opened {
        let new = jobs.iter().filter(|job| !self.jobs.contains_key(&job.job)).count();
        if self.jobs.len() + new > MAX_JOBS {
            return Opened::TooMany;
        }
        Opened::Jobs(jobs.iter().map(|job| self.open_one(job, term, unix_ms)).collect())
    }

    fn open_one(&mut self, open: &OpenJob, term: Term, unix_ms: u64) -> OpenedJob {
        let OpenJob { job, schedule, from } = open;
        // A leader whose clock is fast must not decide what is still to come.
        let from = Tick::at_or_before_ms(unix_ms).min(*from);
        let record = self.jobs.entry(job.clone()).or_insert_with(|| JobRecord::new(schedule, from));
        if record.schedule != *schedule {
            record.schedule = Arc::clone(schedule);
            record.mark = record.mark.max(from);
        }
        let earlier = || record.runs.iter().filter(|known| known.run.term < term);
        let interrupted = earlier().filter(|known| known.run.end.is_none()).map(|known| known.run.tick).collect();
        let unbegun = earlier().filter(|known| known.is_unbegun()).map(|known| known.run.tick).collect();
        OpenedJob {
            mark: record.mark,
            interrupted,
            unbegun,
            is_paused: record.paused_at_unix_ms.is_some(),
            requested: record.requested,
        }
    }

    /// Decides a tick, at this moment of the store's wall clock.
    pub fn claim(&mut self, claim: &Claim, unix_ms: u64) -> Claimed {
        let Some(record) = self.jobs.get_mut(&claim.job) else { return Claimed::Unopened };
        let by = claim.tick.ahead_of(unix_ms);
        if by > MAX_EARLY {
            return Claimed::Early { by };
        }
        if record.paused_at_unix_ms.is_some() && !record.is_claimed_by(claim) {
            return Claimed::Paused;
        }
        match claim.act {
            Act::Run | Act::Pass | Act::Skip if claim.tick > record.mark => {
                record.mark = claim.tick;
                let count = if claim.act == Act::Skip { &mut record.skipped } else { &mut record.missed };
                *count = count.saturating_add(claim.missed);
                if claim.act == Act::Run {
                    record.begin(claim, unix_ms);
                }
                Claimed::Granted
            }
            Act::Run | Act::RunAgain if record.begin_again(claim, unix_ms) => Claimed::Granted,
            Act::Run | Act::RunAgain | Act::Pass | Act::Skip => Claimed::Decided { mark: record.mark },
        }
    }

    /// Records the outcome of a run. Returns whether it was recorded: reports by others than the claimer of the run,
    /// and late ones, are refused. If it is reported twice, the first report counts. A run that never started has not
    /// fired: its tick is missed until a later leader runs it.
    pub fn finish(&mut self, finish: &Finish, unix_ms: u64) -> bool {
        let Some(record) = self.jobs.get_mut(&finish.job) else { return false };
        let own = |known: &&mut RunRecord| known.is_of(finish.tick, finish.nonce, finish.term);
        let Some(known) = record.runs.iter_mut().find(own) else { return false };
        if known.run.end.is_none() {
            let end = RunEnd {
                at_unix_ms: unix_ms,
                took: finish.took,
                retries: finish.retries,
                outcome: finish.outcome.clone(),
            };
            known.run.end = Some(end);
            let unbegun = u64::from(known.is_unbegun());
            record.fired = record.fired.saturating_sub(unbegun);
            record.missed = record.missed.saturating_add(unbegun);
        }
        true
    }

    /// Lists all jobs in order of their names, each with at most `max_runs` runs, the newest first.
    #[must_use]
    pub fn report(&self, max_runs: usize) -> Vec<JobReport> {
        let report = |(job, record): (&JobName, &JobRecord)| JobReport {
            job: job.clone(),
            schedule: Arc::clone(&record.schedule),
            mark: record.mark,
            fired: record.fired,
            missed: record.missed,
            skipped: record.skipped,
            paused_at_unix_ms: record.paused_at_unix_ms,
            requested: record.requested,
            runs: record.runs.iter().rev().take(max_runs).map(|known| known.run.clone()).collect(),
        };
        self.jobs.iter().map(report).collect()
    }

    /// Carries out an order about a job, at this moment of the store's wall clock. Returns whether the job is known.
    pub fn steer(&mut self, job: &JobName, order: JobOrder, unix_ms: u64) -> bool {
        let Some(record) = self.jobs.get_mut(job) else { return false };
        match order {
            JobOrder::Pause => record.paused_at_unix_ms = record.paused_at_unix_ms.or(Some(unix_ms)),
            JobOrder::Resume => record.paused_at_unix_ms = None,
            JobOrder::RunNow => record.requested = record.requested.or(Some(Tick::at_or_before_ms(unix_ms))),
        }
        true
    }

    /// Forgets a job and its runs. Returns whether the job was known.
    pub fn forget(&mut self, job: &JobName) -> bool {
        self.jobs.remove(job).is_some()
    }
}

impl JobRecord {
    fn new(schedule: &Arc<str>, mark: Tick) -> Self {
        Self {
            schedule: Arc::clone(schedule),
            mark,
            fired: 0,
            missed: 0,
            skipped: 0,
            paused_at_unix_ms: None,
            requested: None,
            runs: VecDeque::new(),
        }
    }

    fn begin(&mut self, claim: &Claim, unix_ms: u64) {
        self.fired += 1;
        self.requested.take_if(|requested| *requested <= claim.tick);
        self.runs.push_back(RunRecord::new(claim, unix_ms));
        while self.runs.len() > MAX_RUNS {
            self.runs.pop_front();
        }
    }

    /// Whether it is a claim whose reply was lost.
    fn is_claimed_by(&self, claim: &Claim) -> bool {
        claim.act.is_run() && self.runs.iter().any(|known| known.is_claimed_by(claim))
    }

    /// A claim whose reply was lost is granted once more. A run that was cut off, or that never began, is taken over by a
    /// later leader. The leader that has given it back may not take it under the same term: its report may be under way once more,
    /// and would end the new run, too.
    fn begin_again(&mut self, claim: &Claim, unix_ms: u64) -> bool {
        let Some(known) = self.runs.iter_mut().find(|known| known.run.tick == claim.tick) else { return false };
        if known.is_claimed_by(claim) {
            return true;
        }
        let is_undone = known.run.end.is_none() || known.is_unbegun();
        if claim.act != Act::RunAgain || known.run.term >= claim.term || !is_undone {
            return false;
        }
        self.missed = self.missed.saturating_sub(u64::from(known.is_unbegun()));
        *known = RunRecord::new(claim, unix_ms);
        self.fired += 1;
        true
    }
}

impl RunRecord {
    fn new(claim: &Claim, unix_ms: u64) -> Self {
        let run = RunReport {
            tick: claim.tick,
            term: claim.term,
            candidate: claim.candidate.clone(),
            began_at_unix_ms: unix_ms,
            end: None,
        };
        Self { nonce: claim.nonce, run }
    }

    fn is_claimed_by(&self, claim: &Claim) -> bool {
        self.run.end.is_none() && self.is_of(claim.tick, claim.nonce, claim.term)
    }

    fn is_unbegun(&self) -> bool {
        self.run.end.as_ref().is_some_and(|end| end.outcome == RunOutcome::NotBegun)
    }

    fn is_of(&self, tick: Tick, nonce: Nonce, term: Term) -> bool {
        self.run.tick == tick && self.nonce == nonce && self.run.term == term
    }
}

#[cfg(test)]
mod tests;
