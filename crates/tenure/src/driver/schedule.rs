//! Which elector wants to be called when.

use std::collections::{BTreeSet, HashMap};

use tenure_core::Instant;

use super::EntryId;

/// At most one deadline per elector, the earliest first.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    due: BTreeSet<(Instant, EntryId)>,
    of: HashMap<EntryId, Instant>,
}

impl Schedule {
    pub(crate) fn set(&mut self, id: EntryId, at: Option<Instant>) {
        let before = match at {
            Some(at) => self.of.insert(id, at),
            None => self.of.remove(&id),
        };
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.due.remove(&(before, id));
        }
        if let Some(at) = at {
            self.due.insert((at, id));
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<EntryId> {
        let (at, id) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.set(id, None);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_deadline_replaces_the_old_one() {
        let (id, at) = (EntryId(1), Instant::from_nanos);
        let mut schedule = Schedule::default();
        schedule.set(id, Some(at(10)));
        schedule.set(id, Some(at(20)));
        assert_eq!(schedule.pop_due(at(15)), None);
        assert_eq!(schedule.pop_due(at(20)), Some(id));
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn the_earliest_comes_first() {
        let at = Instant::from_nanos;
        let mut schedule = Schedule::default();
        schedule.set(EntryId(1), Some(at(30)));
        schedule.set(EntryId(2), Some(at(10)));
        assert_eq!(schedule.next(), Some(at(10)));
        assert_eq!(schedule.pop_due(at(40)), Some(EntryId(2)));
        assert_eq!(schedule.pop_due(at(40)), Some(EntryId(1)));
    }
}
