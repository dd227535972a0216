//! What is on its way, in the order in which it will happen.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use tenure_core::{Input, Request, Term};

use super::jobs::JobEvent;
use crate::clock::True;
use crate::fault::Fault;

/// Something that will happen.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A request reaches the store.
    AtStore { from: Life, request: Request, sent: True },
    /// Something reaches a process.
    AtProcess { to: Life, input: Input, sent: True },
    /// The application asks whether it leads, and acts if so; as long as it works under this term.
    Act { by: Life, term: Term },
    /// The guard looks whether the time of the work is over.
    Guard { of: Life, term: Term },
    /// Work ends.
    WorkEnds { of: Life, term: Term },
    /// Work that was away has had the time to be ended.
    WorkGoesOn { of: Life, term: Term },
    /// A write reaches a resource.
    Write { by: Life, term: Term },
    /// A fault of this class happens.
    Fault(Fault),
    /// A process, or the machine it is on, goes on.
    Resume { node: usize },
    /// The clock of a machine goes on.
    ClockGoesOn { machine: usize },
    /// A process that died, or left, begins again.
    Restart { node: usize },
    /// A process dies or leaves, and begins again after so long.
    Go { of: Life, away: u64, leaves: bool },
    /// An application is well again.
    Recover { of: Life },
    /// Something that was wrong is over.
    Eased,
    /// Something happens to jobs.
    Jobs(JobEvent),
}

/// One process: a candidate, and how often it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) node: usize,
    pub(crate) life: u32,
}

#[derive(Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    /// Of what happens at the same instant the first that was put in is the first that comes out.
    put: u64,
}

struct Entry {
    at: True,
    order: u64,
    event: Event,
}

impl Queue {
    pub(crate) fn put(&mut self, at: True, event: Event) {
        self.put += 1;
        self.heap.push(Reverse(Entry { at, order: self.put, event }));
    }

    pub(crate) fn next_at(&self) -> Option<True> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Forgets what should not happen any more.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Event) -> bool) {
        self.heap.retain(|Reverse(entry)| keep(&entry.event));
    }

    pub(crate) fn take(&mut self) -> Option<Event> {
        self.heap.pop().map(|Reverse(entry)| entry.event)
    }
}

impl Entry {
    fn key(&self) -> (True, u64) {
        (self.at, self.order)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
