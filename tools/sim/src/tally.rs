//! What happened, counted: a situation that never came up proves nothing.

use std::fmt;
use std::ops::AddAssign;

use crate::invariants::InvariantViolation;

/// Something that has to come up if the runs are to mean anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Situation {
    /// A candidate was elected.
    Election,
    /// Somebody else was elected than before.
    Takeover,
    /// A candidate that stood still finds on its return that its leadership is over.
    LostWhileAway,
    /// An answer came after its attempt had been given up.
    LateAnswer,
    /// A message arrived twice.
    Duplicate,
    /// A lease was granted, and the one it was granted to did not hear of it.
    GhostLease,
    /// A leader was killed.
    LeaderCrash,
    /// Work was killed, because it did not stop by itself.
    Kill,
    /// A lease was released, and somebody else elected.
    Handover,
    /// The store was seen to go back in time, and refused.
    Regression,
    /// A write of an earlier leader reached a resource after one of a later leader.
    StaleWrite,
    /// A candidate acted while it led.
    Act,
    /// A job fired at its tick.
    Fired,
    /// A job fired for a tick that was missed.
    CaughtUp,
    /// A tick that was missed was passed over.
    PassedMissed,
    /// A tick was passed over because a run went on.
    PassedOverlap,
    /// A run was cut off by the end of its leadership.
    RunCutOff,
    /// A run that was cut off was run again.
    RunAgain,
    /// A claim whose answer was lost was granted again.
    ClaimFoundAgain,
    /// A tick was granted to a leader that led no more when it heard of it.
    GrantTooLate,
    /// A tick was refused because it was still to come.
    EarlyClaim,
    /// A claim of somebody who did not hold the lease was refused.
    ClaimOfOther,
    /// The end of a run was told to somebody who could not write it down any more.
    EndTooLate,
    /// A tick was claimed and never begun, and the store was told.
    GivenBack,
    /// A tick that was given back was granted once more.
    GivenBackTaken,
    /// A wall clock was set.
    WallSet,
    /// A process took in another edition of its jobs.
    JobsReloaded,
    /// A job that the leader does not have was marked as absent.
    MarkedAbsent,
    /// Those first in line were struck, and then the leader went.
    HeadOfLineGone,
    /// A message was handled.
    MessageHandled,
    /// An attempt to handle a message failed.
    HandlingFailed,
    /// The end of a leadership cut the handling of a message short.
    HandlingCutOff,
    /// A message became a dead letter after too many attempts.
    MessageDeadLettered,
    /// A message that the store had already was sent again.
    SentAgain,
    /// The mailbox had no room for a message.
    MailboxFull,
    /// The mailbox said no to somebody who did not hold the lease.
    MailOfOther,
    /// What outlived a leader released its lease, or tried to.
    CrashRelease,
}

/// Counts of one run, or of many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Runs in which nobody broke what promises rest on, so that all of them were claimed to the end.
    pub whole: u64,
    /// Simulated time, in nanoseconds.
    pub simulated: u128,
    /// Things that happened.
    pub events: u64,
    situations: [u64; Situation::ALL.len()],
    /// Promises that nobody made, because what they rest on was broken, and that were not kept either.
    pub unclaimed: Vec<(&'static str, u64)>,
}

impl Default for Tally {
    fn default() -> Self {
        let situations = [0; Situation::ALL.len()];
        Self { runs: 0, whole: 0, simulated: 0, events: 0, situations, unclaimed: Vec::new() }
    }
}

impl Situation {
    /// All of them.
    pub const ALL: [Self; 37] = [
        Self::Election,
        Self::Takeover,
        Self::LostWhileAway,
        Self::LateAnswer,
        Self::Duplicate,
        Self::GhostLease,
        Self::LeaderCrash,
        Self::Kill,
        Self::Handover,
        Self::Regression,
        Self::StaleWrite,
        Self::Act,
        Self::Fired,
        Self::CaughtUp,
        Self::PassedMissed,
        Self::PassedOverlap,
        Self::RunCutOff,
        Self::RunAgain,
        Self::ClaimFoundAgain,
        Self::GrantTooLate,
        Self::EarlyClaim,
        Self::ClaimOfOther,
        Self::EndTooLate,
        Self::GivenBack,
        Self::GivenBackTaken,
        Self::WallSet,
        Self::JobsReloaded,
        Self::MarkedAbsent,
        Self::HeadOfLineGone,
        Self::MessageHandled,
        Self::HandlingFailed,
        Self::HandlingCutOff,
        Self::MessageDeadLettered,
        Self::SentAgain,
        Self::MailboxFull,
        Self::MailOfOther,
        Self::CrashRelease,
    ];

    fn words(self) -> &'static str {
        match self {
            Self::Election => "elections",
            Self::Takeover => "takeovers",
            Self::LostWhileAway => "leaders that came back too late",
            Self::LateAnswer => "answers after their attempt",
            Self::Duplicate => "messages twice",
            Self::GhostLease => "grants nobody heard of",
            Self::LeaderCrash => "leaders killed",
            Self::Kill => "works killed",
            Self::Handover => "hand-overs",
            Self::Regression => "stores that went back, refused",
            Self::StaleWrite => "stale writes at an unfenced resource",
            Self::Act => "acts of leaders",
            Self::Fired => "jobs fired at their ticks",
            Self::CaughtUp => "jobs fired for ticks that were missed",
            Self::PassedMissed => "missed ticks passed over",
            Self::PassedOverlap => "ticks passed over beside a run",
            Self::RunCutOff => "runs of jobs cut off",
            Self::RunAgain => "runs of jobs run again",
            Self::ClaimFoundAgain => "claims of ticks repeated and granted again",
            Self::GrantTooLate => "ticks granted to leaders no more",
            Self::EarlyClaim => "ticks refused because they were to come",
            Self::ClaimOfOther => "ticks refused to those who did not hold the lease",
            Self::EndTooLate => "ends of runs told too late",
            Self::GivenBack => "ticks given back",
            Self::GivenBackTaken => "ticks given back and granted again",
            Self::WallSet => "wall clocks set",
            Self::JobsReloaded => "editions of jobs taken in while running",
            Self::MarkedAbsent => "times jobs were marked as absent",
            Self::HeadOfLineGone => "leaders that went after those next in line",
            Self::MessageHandled => "messages handled",
            Self::HandlingFailed => "attempts to handle a message that failed",
            Self::HandlingCutOff => "attempts to handle a message that were cut off",
            Self::MessageDeadLettered => "messages that became dead letters",
            Self::SentAgain => "messages sent again that were there",
            Self::MailboxFull => "messages for which there was no room",
            Self::MailOfOther => "mailboxes closed to those who did not hold the lease",
            Self::CrashRelease => "leases released in the place of dead leaders",
        }
    }
}

impl Tally {
    /// How often this came up.
    #[must_use]
    pub fn of(&self, situation: Situation) -> u64 {
        self.situations[situation as usize]
    }

    /// What never came up.
    #[must_use]
    pub fn missing(&self) -> Vec<Situation> {
        Situation::ALL.into_iter().filter(|situation| self.of(*situation) == 0).collect()
    }

    pub(crate) fn of_one_run() -> Self {
        Self { runs: 1, ..Self::default() }
    }

    pub(crate) fn count(&mut self, situation: Situation) {
        self.situations[situation as usize] += 1;
    }

    pub(crate) fn saw_unclaimed(&mut self, violation: &InvariantViolation) {
        self.add_unclaimed(violation.invariant, 1);
    }

    fn add_unclaimed(&mut self, invariant: &'static str, more: u64) {
        match self.unclaimed.iter_mut().find(|(name, _)| *name == invariant) {
            Some((_, count)) => *count += more,
            None => self.unclaimed.push((invariant, more)),
        }
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.runs += other.runs;
        self.whole += other.whole;
        self.simulated += other.simulated;
        self.events += other.events;
        for (sum, more) in self.situations.iter_mut().zip(other.situations) {
            *sum += more;
        }
        for (invariant, count) in &other.unclaimed {
            self.add_unclaimed(invariant, *count);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for situation in Situation::ALL {
            writeln!(f, "  {:>15}  {}", grouped(self.of(situation)), situation.words())?;
        }
        writeln!(
            f,
            "  {:>15}  runs of {} in which every promise was claimed to the end",
            grouped(self.whole),
            grouped(self.runs)
        )?;
        for (invariant, count) in &self.unclaimed {
            writeln!(
                f,
                "  {:>15}  runs in which a store or a machine broke its word, and so `{invariant}` broke",
                grouped(*count)
            )?;
        }
        Ok(())
    }
}

/// A number that people can read.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn what_never_came_up_is_missing() {
        let mut tally = Tally::default();
        tally.count(Situation::Takeover);
        let mut sum = Tally::default();
        sum += &tally;
        sum += &tally;
        assert_eq!(sum.of(Situation::Takeover), 2);
        assert!(!sum.missing().contains(&Situation::Takeover) && sum.missing().contains(&Situation::Kill));
    }
}
