//! What stores tell in milliseconds since the Unix epoch, as times for people.
#![expect(
    clippy::disallowed_types,
    reason = "numbers become times here; no clock is read, and no two times are compared"
)]

use std::time::{Duration, SystemTime};

use crate::jobs::{JobReport, RunEnd, RunReport, Tick};
use crate::lease::Leader;
use crate::messages::Message;
use crate::request::{StandBy, Transition};

fn after_epoch(unix_ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(unix_ms)
}

impl Leader {
    /// When it was granted its term, on the store's wall clock; `None` where the store does not know.
    #[must_use]
    pub fn since(&self) -> Option<SystemTime> {
        self.since_unix_ms.map(after_epoch)
    }
}

impl StandBy {
    /// Since when it stands by, on the store's wall clock.
    #[must_use]
    pub fn since(&self) -> SystemTime {
        after_epoch(self.since_unix_ms)
    }
}

impl Message {
    /// When it was accepted, on the store's wall clock.
    #[must_use]
    pub fn sent_at(&self) -> SystemTime {
        after_epoch(self.sent_at_unix_ms)
    }
}

impl Transition {
    /// When it happened, on the store's wall clock.
    #[must_use]
    pub fn at(&self) -> SystemTime {
        after_epoch(self.at_unix_ms)
    }
}

impl JobReport {
    /// Since when it is paused, on the store's wall clock; `None` when it is not.
    #[must_use]
    pub fn paused_at(&self) -> Option<SystemTime> {
        self.paused_at_unix_ms.map(after_epoch)
    }
}

impl RunReport {
    /// When it was claimed, on the store's wall clock.
    #[must_use]
    pub fn began_at(&self) -> SystemTime {
        after_epoch(self.began_at_unix_ms)
    }
}

impl RunEnd {
    /// When it was reported, on the store's wall clock.
    #[must_use]
    pub fn at(&self) -> SystemTime {
        after_epoch(self.at_unix_ms)
    }
}

impl Tick {
    /// The time at which it is due.
    #[must_use]
    pub fn time(self) -> SystemTime {
        after_epoch(self.unix_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_a_time() {
        let since = |unix_ms| after_epoch(unix_ms).duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        assert_eq!(since(1_500), 1_500);
        assert_eq!(since(u64::MAX), u128::from(u64::MAX), "whatever a store has told");
        assert_eq!(Tick::from_unix_s(2).time(), after_epoch(2_000));
    }
}
