//! Runs: they begin with a grant, and end by themselves or with the work of their leadership.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::Term;
use tenure_core::jobs::{Act, EndedAttempt, JobAttempt, RunOutcome};

use super::{JobRequestContext, SimJobEvent, SimJobRun};
use crate::invariants::Occurrence;
use crate::mistake::JobMistake;
use crate::options::WorkStyle;
use crate::tally::Situation;
use crate::world::queue::{Incarnation, SimEvent};
use crate::world::{SimOutcome, SimWorld};

impl SimWorld {
    /// A run begins.
    pub(super) fn begin_run(
        &mut self,
        of: Incarnation,
        job: usize,
        attempt: &JobAttempt,
        act: Act,
        asked: JobRequestContext,
    ) -> SimOutcome {
        self.count(match (act, attempt.late) {
            (Act::RunAgain, _) => Situation::RunAgain,
            (_, Some(_)) => Situation::CaughtUp,
            (_, None) => Situation::Fired,
        });
        let (id, JobAttempt { run, term, tick, .. }) = (self.jobs.numbers(1), attempt.clone());
        let run = SimJobRun { id, of, run, term, job, tick, act, began: self.now, asked };
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

    /// A process that is still there tells its engine.
    pub(super) fn see_run_end(&mut self, run: &SimJobRun, is_cut_off: bool) -> SimOutcome {
        let outcome = if is_cut_off { RunOutcome::Cancelled } else { RunOutcome::Succeeded };
        let took = Duration::from_nanos(self.now - run.began);
        self.attempt_ended(run.of, run.job, EndedAttempt { run: run.run, took, outcome, may_retry: true })
    }

    /// The engine does not keep the lease any longer. If it was all that kept it, the work has ended.
    pub(in crate::world) fn lease_may_go(&mut self, node: usize, term: Term) {
        if let Some(work) = self.work_under(node, term).filter(|work| work.is_done) {
            let event = SimEvent::WorkEnds { of: work.of, term };
            self.queue.put(self.now, event);
        }
    }

    fn said_of(&self, run: &SimJobRun) -> String {
        format!("{} of {} under term {}", run.tick, self.options.jobs[run.job].policy.job, run.term)
    }
}
