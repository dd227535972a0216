//! What happens to jobs.

use std::sync::Arc;

use super::{Asked, Run};
use crate::store::{JobReply, JobRequest};
use crate::world::queue::{Event, Life};
use crate::world::{Outcome, World};

/// Something that will happen.
#[derive(Debug, Clone)]
pub(crate) enum JobEvent {
    /// Whoever leads looks what is due; only the last that was put in counts.
    Look { of: Life, look: u64 },
    /// A request reaches the store.
    AtStore { from: Life, id: u64, request: Arc<JobRequest>, asked: Asked },
    /// An answer reaches a process.
    Heard { to: Life, id: u64, reply: JobReply },
    /// The time of a run is over.
    RunEnds { of: Life, run: u64 },
    /// A process sees that a run has ended, by itself or with its leadership.
    RunSeenToEnd { run: Arc<Run>, is_cut_off: bool },
    /// The end of a run is told once more, unless the store has confirmed it.
    TellEnd { of: Life, id: u64 },
}

impl World {
    pub(in crate::world) fn happen_to_jobs(&mut self, event: JobEvent) -> Outcome {
        if let Some(node) = self.keeps_waiting(&event) {
            self.jobs.held.push((node, event));
            return Ok(());
        }
        match event {
            JobEvent::Look { of, look } => self.look(of, look),
            JobEvent::AtStore { from, id, request, asked } => self.serve_jobs(from, id, &request, asked),
            JobEvent::Heard { to, id, reply } => self.hear_of_jobs(to, id, &reply),
            JobEvent::RunEnds { run, .. } => self.end_run_in_time(run),
            JobEvent::RunSeenToEnd { run, is_cut_off } => self.see_run_end(&run, is_cut_off),
            JobEvent::TellEnd { of, id } => {
                self.tell_end(of, id);
                Ok(())
            }
        }
    }

    /// Who has to be there for it, and is not.
    fn keeps_waiting(&self, event: &JobEvent) -> Option<usize> {
        let node = match event {
            JobEvent::AtStore { .. } => return None,
            JobEvent::RunEnds { of, .. } => return Some(of.node).filter(|node| self.stands_still(*node)),
            JobEvent::Look { of, .. } | JobEvent::TellEnd { of, .. } => of.node,
            JobEvent::Heard { to, .. } => to.node,
            JobEvent::RunSeenToEnd { run, .. } => run.of.node,
        };
        (self.now < self.nodes[node].away_until(&self.machines)).then_some(node)
    }

    /// A process is there again, and finds what has waited for it.
    pub(in crate::world) fn resume_jobs(&mut self, node: usize) {
        let (mine, others): (Vec<_>, Vec<_>) = self.jobs.held.drain(..).partition(|(of, _)| *of == node);
        self.jobs.held = others;
        for (_, event) in mine {
            self.queue.put(self.now, Event::Jobs(event));
        }
    }
}
