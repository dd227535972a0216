//! The elector's timers: one enum, one table.

use crate::time::Instant;

/// What an elector can be waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Timer {
    /// The request under way has had all the time it may take.
    Attempt,
    /// Follower: campaign now. The known lease has run out, or a back-off is over.
    Campaign,
    /// Leader: renew now.
    Renew,
    /// Leader: not renewed in time; the work must begin to stop.
    Stop,
    /// Ex-leader: the work must be gone.
    Kill,
    /// Ex-leader: the lease may have passed to somebody else.
    Lapse,
    /// The application has not said that it is well for too long.
    Health,
}

/// When each timer is due.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Timers([Option<Instant>; Timer::ALL.len()]);

impl Timer {
    /// In the order in which timers due at the same instant fire: what protects others comes first.
    pub(crate) const ALL: [Self; 7] =
        [Self::Stop, Self::Kill, Self::Lapse, Self::Health, Self::Attempt, Self::Renew, Self::Campaign];
}

impl Timers {
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.0[timer as usize] = Some(at);
    }

    pub(crate) fn clear(&mut self, timer: Timer) {
        self.0[timer as usize] = None;
    }

    pub(crate) fn get(&self, timer: Timer) -> Option<Instant> {
        self.0[timer as usize]
    }

    /// Brings a timer forward; one that is due earlier, or not set, is set to `at` at the latest.
    pub(crate) fn at_latest(&mut self, timer: Timer, at: Instant) {
        let due = self.get(timer).map_or(at, |due| due.min(at));
        self.set(timer, due);
    }

    /// Takes out the first timer that is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        let due = Timer::ALL.into_iter().find(|timer| self.get(*timer).is_some_and(|at| at <= now))?;
        self.clear(due);
        Some(due)
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.iter().flatten().min().copied()
    }

    /// All but the health timer belong to a state; leaving the state clears them.
    pub(crate) fn clear_all_but_health(&mut self) {
        for timer in Timer::ALL.into_iter().filter(|timer| *timer != Timer::Health) {
            self.clear(timer);
        }
    }
}
