//! The times at which a command is asked to stop, and killed.

use tenure_core::Instant;

use super::super::message::TrustDeadlines;

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DueAction {
    Nothing,
    /// Ask the tree to end: due once.
    Stop,
    /// End the tree: due until it is dead.
    Kill,
}

/// The deadlines of one command. Once it was asked to end, trust can no longer save it: it has begun to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommandDeadlines {
    trust: TrustDeadlines,
    /// When the command is ended even if trust lasts longer. Set as soon as it is to stop.
    kill_by: Option<Instant>,
    asked: bool,
}

impl CommandDeadlines {
    pub(super) fn new(trust: TrustDeadlines) -> Self {
        Self { trust, kill_by: None, asked: false }
    }

    /// Goes by this trust from now on.
    pub(super) fn trust(&mut self, trust: TrustDeadlines) {
        self.trust = trust;
    }

    /// Stops the command now, and ends it at `kill_at` unless it is to be ended sooner anyway.
    pub(super) fn terminate(&mut self, kill_at: Instant) {
        self.kill_by = Some(self.kill_by.map_or(kill_at, |kill_by| kill_by.min(kill_at)));
    }

    /// Whether the command is to stop, or is stopping.
    pub(super) fn is_stopping(&self) -> bool {
        self.kill_by.is_some()
    }

    /// What is due, which counts as done by this call.
    pub(super) fn due(&mut self, now: Instant) -> DueAction {
        if now >= self.kill_at() {
            // No later trust may revive what is being killed.
            self.terminate(Instant::ZERO);
            DueAction::Kill
        } else if !self.asked && now >= self.stop_at() {
            self.asked = true;
            self.terminate(self.trust.kill_at);
            DueAction::Stop
        } else {
            DueAction::Nothing
        }
    }

    /// When something is due next.
    pub(super) fn wake_at(&self) -> Instant {
        if self.asked { self.kill_at() } else { self.stop_at().min(self.kill_at()) }
    }

    fn stop_at(&self) -> Instant {
        if self.is_stopping() { Instant::ZERO } else { self.trust.stop_at }
    }

    fn kill_at(&self) -> Instant {
        self.kill_by.map_or(self.trust.kill_at, |kill_by| kill_by.min(self.trust.kill_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn trust(stop: u64, kill: u64) -> TrustDeadlines {
        TrustDeadlines { stop_at: at(stop), kill_at: at(kill) }
    }

    #[test]
    fn without_an_extension_it_stops_once_and_then_kills_until_dead() {
        let mut schedule = CommandDeadlines::new(trust(10, 13));
        assert_eq!((schedule.due(at(9)), schedule.wake_at()), (DueAction::Nothing, at(10)));
        assert_eq!((schedule.due(at(10)), schedule.wake_at()), (DueAction::Stop, at(13)));
        assert_eq!(schedule.due(at(12)), DueAction::Nothing);
        assert_eq!(schedule.due(at(13)), DueAction::Kill);
        assert_eq!(schedule.due(at(14)), DueAction::Kill);
    }

    #[test]
    fn an_extension_in_time_moves_both_deadlines() {
        let mut schedule = CommandDeadlines::new(trust(10, 13));
        schedule.trust(trust(20, 23));
        assert_eq!((schedule.due(at(15)), schedule.wake_at()), (DueAction::Nothing, at(20)));
    }

    #[test]
    fn past_the_kill_there_is_no_grace_and_no_way_back() {
        let mut schedule = CommandDeadlines::new(trust(10, 13));
        assert_eq!(schedule.due(at(40)), DueAction::Kill);
        schedule.trust(trust(100, 103));
        assert_eq!(schedule.due(at(41)), DueAction::Kill);
    }

    #[test]
    fn an_extension_that_comes_after_the_stop_does_not_postpone_the_kill() {
        let mut schedule = CommandDeadlines::new(trust(10, 13));
        assert_eq!(schedule.due(at(10)), DueAction::Stop);
        schedule.trust(trust(20, 23));
        assert_eq!((schedule.due(at(12)), schedule.due(at(13))), (DueAction::Nothing, DueAction::Kill));
    }

    #[test]
    fn terminating_stops_at_once_and_kills_no_later_than_trust_ends() {
        let mut schedule = CommandDeadlines::new(trust(10, 13));
        schedule.terminate(at(30));
        assert_eq!((schedule.due(at(1)), schedule.wake_at()), (DueAction::Stop, at(13)));
        schedule.terminate(at(5));
        assert_eq!((schedule.due(at(4)), schedule.due(at(5))), (DueAction::Nothing, DueAction::Kill));
    }

    #[test]
    fn renewing_while_it_stops_lets_it_have_the_grace_it_was_given() {
        let mut schedule = CommandDeadlines::new(trust(10, 13));
        schedule.terminate(at(15));
        schedule.trust(trust(20, 23));
        assert_eq!(schedule.due(at(1)), DueAction::Stop);
        assert_eq!((schedule.due(at(14)), schedule.due(at(15))), (DueAction::Nothing, DueAction::Kill));
    }
}
