//! Runs: they begin with a grant, and end by themselves or with the work of their leadership.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::Term;
use tenure_core::jobs::{Act, Finish, RunOutcome};

use super::scheduler::{PendingClaim, SimScheduler};
use super::{RunEndReport, SimJobEvent, SimJobRun};
use crate::clock::{SECOND, SimTime};
use crate::invariants::Occurrence;
use crate::mistake::JobMistake;
use crate::options::WorkStyle;
use crate::store::{JobRequest, key};
use crate::tally::Situation;
use crate::world::queue::{Incarnation, SimEvent};
use crate::world::{SimOutcome, SimWorld};

/// How often an end is told before nobody cares any more.
const TOLD_AT_MOST: u32 = 4;
/// When a tick is given back once more.
const TELL_AGAIN_AFTER: u64 = SECOND;

impl SimWorld {
    /// A run begins, if its leader still leads at this very instant.
    pub(super) fn begin_run(&mut self, scheduler: &mut SimScheduler, job: usize, pending: PendingClaim) -> SimOutcome {
        let PendingClaim { tick, act, asked, .. } = pending;
        let (of, term) = (scheduler.of, scheduler.term);
        if self.leads_under(of.node) != Some(term) && !self.errs(JobMistake::RunsAfterLoss) {
            self.count(Situation::GrantTooLate);
            self.give_back(scheduler, job, tick);
            return Ok(());
        }
        self.count(match (act, asked.is_late) {
            (Act::RunAgain, _) => Situation::RunAgain,
            (_, true) => Situation::CaughtUp,
            (_, false) => Situation::Fired,
        });
        scheduler.scheduled_jobs[job].running += 1;
        let run = SimJobRun {
            id: self.jobs.number(),
            of,
            term,
            nonce: scheduler.nonce,
            job,
            tick,
            act,
            began: self.now,
            asked,
        };
        self.say(|world| format!("{} RUNS {}", world.name(of.node), world.said_of(&run)));
        let longest = self.options.jobs[job].lasts;
        let at = self.now + self.jobs.rng.between(longest / 10, longest);
        self.queue.put(at, SimEvent::Jobs(SimJobEvent::RunEnds { of, run: run.id }));
        self.jobs.runs.push(run.clone());
        self.see(&Occurrence::RunBegan(&run))
    }

    /// Whether what runs there stands still with its process, or with its machine.
    pub(super) fn stands_still(&self, node: usize) -> bool {
        let process = &self.nodes[node];
        let until = match process.contender.style {
            WorkStyle::Library => process.away_until(&self.machines),
            WorkStyle::Guarded => self.machines[process.machine].suspended_until,
        };
        self.now < until
    }

    pub(super) fn end_run_in_time(&mut self, run: u64) -> SimOutcome {
        match self.jobs.runs.iter().position(|known| known.id == run) {
            Some(index) => {
                self.end_run(index, false);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The work of a leadership has ended, and with it whatever still ran.
    pub(in crate::world) fn cut_off_runs(&mut self, of: Incarnation, term: Term) {
        if self.errs(JobMistake::RunsOutliveWork) {
            return;
        }
        while let Some(index) = self.jobs.runs.iter().position(|run| run.of == of && run.term == term) {
            self.count(Situation::RunCutOff);
            self.end_run(index, true);
        }
    }

    fn end_run(&mut self, index: usize, is_cut_off: bool) {
        let run = self.jobs.runs.swap_remove(index);
        self.say(|world| {
            let how = if is_cut_off { "is cut off" } else { "ends" };
            format!("{} of {} {how}", world.said_of(&run), world.name(run.of.node))
        });
        self.queue.put(self.now, SimEvent::Jobs(SimJobEvent::RunSeenToEnd { run: Arc::new(run), is_cut_off }));
    }

    /// A process that is still there tells the store.
    pub(super) fn see_run_end(&mut self, run: &SimJobRun, is_cut_off: bool) -> SimOutcome {
        let node = run.of.node;
        if self.nodes[node].life != run.of.life || self.nodes[node].elector.is_none() {
            return Ok(());
        }
        if let Some(scheduler) = self.scheduler_of(run.of).filter(|scheduler| scheduler.term == run.term)
            && let Some(scheduled) = scheduler.scheduled_jobs.get_mut(run.job)
        {
            scheduled.running = scheduled.running.saturating_sub(1);
            scheduled.planner.ended();
        }
        let took = Duration::from_nanos(self.now - run.began);
        let outcome = match is_cut_off {
            true if self.errs(JobMistake::GivesBackBegun) => RunOutcome::NotBegun,
            true => RunOutcome::Cancelled,
            false => RunOutcome::Succeeded,
        };
        let job = self.options.jobs[run.job].policy.job.clone();
        let finish =
            Finish { key: key(), nonce: run.nonce, term: run.term, job, tick: run.tick, took, retries: 0, outcome };
        self.tell_end_of(run.of, finish, TOLD_AT_MOST, 0);
        self.look_now(run.of)
    }

    pub(super) fn tell_end_of(&mut self, of: Incarnation, finish: Finish, left: u32, claimable_until: SimTime) {
        let id = self.jobs.number();
        self.jobs.ends.push(RunEndReport { id, finish, left, claimable_until, told_at: self.now });
        self.tell_end(of, id);
    }

    /// What the store says to an end: written down, or not known. Its answer may be old by now.
    pub(super) fn hear_of_end(&mut self, id: u64, is_known: bool) {
        let is_settled = |end: &RunEndReport| is_known || end.told_at >= end.claimable_until;
        self.jobs.ends.retain(|end| end.id != id || !is_settled(end));
    }

    pub(super) fn tell_end(&mut self, of: Incarnation, id: u64) {
        let is_alive = self.nodes[of.node].life == of.life && self.nodes[of.node].elector.is_some();
        let Some(index) = self.jobs.ends.iter().position(|end| end.id == id) else { return };
        let end = &mut self.jobs.ends[index];
        if !is_alive || end.left == 0 {
            self.jobs.ends.swap_remove(index);
            return;
        }
        end.left -= 1;
        end.told_at = self.now;
        let finish = end.finish.clone();
        let asked = self.asked(of.node, false);
        // The number of the request is that of the end from now on: what was asked before is not waited for.
        let asked_as = self.ask(of, JobRequest::Finish(finish), asked);
        self.jobs.ends[index].id = asked_as;
        // What the store may not know yet is not asked for all the time.
        let pause = if self.jobs.ends[index].claimable_until > 0 { TELL_AGAIN_AFTER } else { 0 };
        let again = self.now + self.patience_of(of.node).max(pause);
        self.queue.put(again, SimEvent::Jobs(SimJobEvent::TellEnd { of, id: asked_as }));
    }

    fn said_of(&self, run: &SimJobRun) -> String {
        format!("{} of {} under term {}", run.tick, self.options.jobs[run.job].policy.job, run.term)
    }
}
