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

/// When each timer is due; [`Instant::FAR_FUTURE`] for those that are not set, which halves the size of the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Timers([Instant; Timer::ALL.len()]);

impl Timer {
    /// In the order in which timers due at the same instant fire: what protects others comes first.
    pub(crate) const ALL: [Self; 7] =
        [Self::Stop, Self::Kill, Self::Lapse, Self::Health, Self::Attempt, Self::Renew, Self::Campaign];
}

impl Default for Timers {
    fn default() -> Self {
        Self([Instant::FAR_FUTURE; Timer::ALL.len()])
    }
}

impl Timers {
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.0[timer as usize] = at;
    }

    pub(crate) fn clear(&mut self, timer: Timer) {
        self.0[timer as usize] = Instant::FAR_FUTURE;
    }

    pub(crate) fn get(&self, timer: Timer) -> Option<Instant> {
        Some(self.0[timer as usize]).filter(|at| *at < Instant::FAR_FUTURE)
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
        self.0.iter().min().copied().filter(|at| *at < Instant::FAR_FUTURE)
    }

    /// All but the health timer belong to a state; leaving the state clears them.
    pub(crate) fn clear_all_but_health(&mut self) {
        for timer in Timer::ALL.into_iter().filter(|timer| *timer != Timer::Health) {
            self.clear(timer);
        }
    }
}
