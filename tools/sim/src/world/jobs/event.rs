//! What happens to jobs.

use std::sync::Arc;

use tenure_core::Term;
use tenure_core::jobs::CallId;

use super::{JobRequestContext, SimJobRun};
use crate::store::{JobReply, JobRequest};
use crate::world::queue::{Incarnation, SimEvent};
use crate::world::{SimOutcome, SimWorld};

/// Something that will happen.
#[derive(Debug, Clone)]
pub(crate) enum SimJobEvent {
    /// The alarm of an engine rings; only the last that was set counts.
    Look { of: Incarnation, look: u64 },
    /// A call reaches the store. Its number is that of the first request; each has a number of its own.
    AtStore {
        from: Incarnation,
        call: CallId,
        number: u64,
        requests: Arc<[JobRequest]>,
        asked: Arc<[JobRequestContext]>,
    },
    /// An answer reaches a process.
    Heard { to: Incarnation, call: CallId, requests: Arc<[JobRequest]>, replies: Arc<[JobReply]> },
    /// A process is told that its file has changed.
    Reload { of: Incarnation },
    /// The work of a leadership has had its time, or has ended.
    Over { of: Incarnation, term: Term },
    /// The time of a run is over.
    RunEnds { of: Incarnation, run: u64 },
    /// A process sees that a run has ended, by itself or with its leadership.
    RunSeenToEnd { run: Arc<SimJobRun>, is_cut_off: bool },
}

impl SimWorld {
    pub(in crate::world) fn happen_to_jobs(&mut self, event: SimJobEvent) -> SimOutcome {
        if let Some(node) = self.keeps_waiting(&event) {
            self.jobs.held.push((node, event));
            return Ok(());
        }
        match event {
            SimJobEvent::Look { of, look } => self.look(of, look),
            SimJobEvent::AtStore { from, call, number, requests, asked } => {
                self.serve_jobs(from, call, number, &requests, &asked)
            }
            SimJobEvent::Heard { to, call, requests, replies } => self.hear_of_jobs(to, call, &requests, &replies),
            SimJobEvent::Reload { of } => self.reload(of),
            SimJobEvent::Over { of, term } => self.over(of, term),
            SimJobEvent::RunEnds { run, .. } => self.end_run_in_time(run),
            SimJobEvent::RunSeenToEnd { run, is_cut_off } => self.see_run_end(&run, is_cut_off),
        }
    }

    /// Who has to be there for it, and is not.
    fn keeps_waiting(&self, event: &SimJobEvent) -> Option<usize> {
        let node = match event {
            SimJobEvent::AtStore { .. } => return None,
            SimJobEvent::RunEnds { of, .. } => return Some(of.node).filter(|node| self.stands_still(*node)),
            SimJobEvent::Look { of, .. } | SimJobEvent::Reload { of } | SimJobEvent::Over { of, .. } => of.node,
            SimJobEvent::Heard { to, .. } => to.node,
            SimJobEvent::RunSeenToEnd { run, .. } => run.of.node,
        };
        (self.now < self.nodes[node].away_until(&self.machines)).then_some(node)
    }

    /// A process is there again, and finds what has waited for it.
    pub(in crate::world) fn resume_jobs(&mut self, node: usize) {
        let (mine, others): (Vec<_>, Vec<_>) = self.jobs.held.drain(..).partition(|(of, _)| *of == node);
        self.jobs.held = others;
        for (_, event) in mine {
            self.queue.put(self.now, SimEvent::Jobs(event));
        }
    }
}
