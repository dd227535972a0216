//! What is on its way, in the order in which it will happen.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tenure_core::{Input, Request, Term};

use super::crash_release::OrphanedLease;
use super::jobs::SimJobEvent;
use super::messages::SimMailEvent;
use crate::clock::SimTime;
use crate::fault::FaultClass;

/// Something that will happen.
#[derive(Debug, Clone)]
pub(crate) enum SimEvent {
    /// A request reaches the store.
    AtStore { from: Incarnation, request: Request, sent: SimTime },
    /// Something reaches a process.
    AtProcess { to: Incarnation, input: Input, sent: SimTime },
    /// The application asks whether it leads, and acts if so; as long as it works under this term.
    Act { by: Incarnation, term: Term },
    /// The guard looks whether the time of the work is over.
    Guard { of: Incarnation, term: Term },
    /// What outlived a process releases its lease.
    CrashRelease(OrphanedLease),
    /// Work ends.
    WorkEnds { of: Incarnation, term: Term },
    /// Work that was away has had the time to be ended.
    WorkGoesOn { of: Incarnation, term: Term },
    /// A write reaches a resource.
    Write { by: Incarnation, term: Term },
    /// A fault of this class happens.
    Fault(FaultClass),
    /// A process, or the machine it is on, goes on.
    Resume { node: usize },
    /// The clock of a machine goes on.
    ClockGoesOn { machine: usize },
    /// A process that died, or left, begins again.
    Restart { node: usize },
    /// A process dies or leaves, and begins again after so long.
    Go { of: Incarnation, away: u64, leaves: bool },
    /// An application is well again.
    Recover { of: Incarnation },
    /// Something that was wrong is over.
    Eased,
    /// Something happens to jobs.
    Jobs(SimJobEvent),
    /// Something happens to messages.
    Mail(Box<SimMailEvent>),
}

/// One process: a candidate, and how often it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Incarnation {
    pub(crate) node: usize,
    pub(crate) life: u32,
}

#[derive(Default)]
pub(crate) struct EventQueue {
    /// When, in which order, and where the event lies: events are large, and a heap moves what is in it again and again.
    heap: BinaryHeap<Reverse<(SimTime, u64, usize)>>,
    /// Of what happens at the same instant the first that was put in is the first that comes out.
    put: u64,
    events: Vec<Option<SimEvent>>,
    free: Vec<usize>,
}

impl EventQueue {
    pub(crate) fn put(&mut self, at: SimTime, event: SimEvent) {
        self.put += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[place] = Some(event);
        self.heap.push(Reverse((at, self.put, place)));
    }

    pub(crate) fn next_at(&self) -> Option<SimTime> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Forgets what should not happen any more.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&SimEvent) -> bool) {
        self.heap.retain(|Reverse((.., place))| {
            let is_kept = self.events[*place].as_ref().is_some_and(&mut keep);
            if !is_kept {
                self.events[*place] = None;
                self.free.push(*place);
            }
            is_kept
        });
    }

    pub(crate) fn take(&mut self) -> Option<SimEvent> {
        let Reverse((.., place)) = self.heap.pop()?;
        self.free.push(place);
        self.events[place].take()
    }
}
