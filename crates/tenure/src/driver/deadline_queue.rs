//! Deadlines of the electors.

use std::collections::BTreeSet;

use tenure_core::Instant;

use super::CandidacyId;

/// At most one deadline per elector, the earliest first. The caller that moves one knows where it was.
#[derive(Debug, Default)]
pub(crate) struct DeadlineQueue(BTreeSet<(Instant, CandidacyId)>);

impl DeadlineQueue {
    pub(crate) fn change(&mut self, id: CandidacyId, before: Option<Instant>, after: Option<Instant>) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.0.remove(&(before, id));
        }
        if let Some(after) = after {
            self.0.insert((after, id));
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    /// The elector whose deadline is the first to have passed. It stays in the schedule until it is changed.
    pub(crate) fn first_due(&self, now: Instant) -> Option<CandidacyId> {
        self.0.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_deadline_replaces_the_old_one() {
        let (id, at) = (CandidacyId(1), Instant::from_nanos);
        let mut schedule = DeadlineQueue::default();
        schedule.change(id, None, Some(at(10)));
        schedule.change(id, Some(at(10)), Some(at(20)));
        assert_eq!(schedule.first_due(at(15)), None);
        assert_eq!(schedule.first_due(at(20)), Some(id));
        schedule.change(id, Some(at(20)), None);
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn the_earliest_comes_first() {
        let at = Instant::from_nanos;
        let mut schedule = DeadlineQueue::default();
        schedule.change(CandidacyId(1), None, Some(at(30)));
        schedule.change(CandidacyId(2), None, Some(at(10)));
        assert_eq!(schedule.next(), Some(at(10)));
        assert_eq!(schedule.first_due(at(40)), Some(CandidacyId(2)));
    }
}
