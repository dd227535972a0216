//! Which job wants to be looked at when.

use std::collections::BTreeSet;

/// At most one moment of the wall clock per job, the earliest first.
#[derive(Debug, Clone, Default)]
pub(super) struct DueQueue {
    due: BTreeSet<(u64, usize)>,
    /// By job.
    at: Vec<Option<u64>>,
}

impl DueQueue {
    /// All of so many jobs are to be looked at now.
    pub(super) fn new(jobs: usize) -> Self {
        let mut due = Self { due: BTreeSet::new(), at: vec![None; jobs] };
        due.all_now();
        due
    }

    pub(super) fn all_now(&mut self) {
        for index in 0..self.at.len() {
            self.set(index, Some(0));
        }
    }

    /// Look at a job then, in milliseconds since the Unix epoch.
    pub(super) fn set(&mut self, index: usize, unix_ms: Option<u64>) {
        let Some(at) = self.at.get_mut(index) else { return };
        if let Some(before) = std::mem::replace(at, unix_ms) {
            self.due.remove(&(before, index));
        }
        if let Some(at) = unix_ms {
            self.due.insert((at, index));
        }
    }

    /// The first job whose moment has come. It stays in the queue until it is set.
    pub(super) fn first_due(&self, unix_ms: u64) -> Option<usize> {
        self.due.first().filter(|(at, _)| *at <= unix_ms).map(|(_, index)| *index)
    }

    pub(super) fn next(&self) -> Option<u64> {
        self.due.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_stays_until_it_is_set() {
        let mut due = DueQueue::new(3);
        assert_eq!(due.first_due(0), Some(0), "all are to be looked at");
        for (index, at) in [(0, Some(30)), (1, Some(10)), (2, None)] {
            due.set(index, at);
        }
        assert_eq!((due.next(), due.first_due(9)), (Some(10), None));
        assert_eq!((due.first_due(40), due.first_due(40)), (Some(1), Some(1)));
        due.set(1, None);
        assert_eq!(due.first_due(40), Some(0));
        due.set(7, Some(0));
        assert_eq!(due.first_due(40), Some(0), "there is no such job");
    }
}
