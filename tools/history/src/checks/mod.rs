//! What must hold, one check per file.

mod alternation;
mod ends;
mod overlap;
mod registers;
mod takeovers;
mod terms;

use std::fmt;

use serde::Serialize;

use crate::event::LineSource;
use crate::leadership::ObservedLeadership;
use crate::life::ProcessLife;
use crate::verdict::Limits;

pub use self::registers::Register;
pub(crate) use self::registers::check as registers;
pub use self::takeovers::{Spread, Takeover};
pub(crate) use self::takeovers::{all as takeovers, by_reason};

/// Something that must not happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryViolation {
    /// What it offends.
    pub check: Check,
    /// What happened, in a sentence.
    pub message: String,
    /// The lines that prove it.
    pub lines: Vec<LineSource>,
    /// From when to when, on `CLOCK_BOOTTIME`, if it took time.
    pub between_boot_ns: Option<(u64, u64)>,
}

impl fmt::Display for HistoryViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.lines.iter().map(LineSource::to_string).collect();
        write!(f, "{}: {} ({})", self.check.as_str(), self.message, lines.join(", "))
    }
}

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Check {
    /// No two lead at the same instant.
    Overlap,
    /// The end of a leadership that was followed by another is known.
    End,
    /// Terms grow strictly, and none is used twice.
    Terms,
    /// A process is elected, loses that term, is elected again, and so on.
    Alternation,
    /// The next leader is there in time.
    Takeover,
    /// A resource that checks terms takes none that is older than one it has taken.
    Fencing,
}

impl Check {
    /// One word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::End => "end",
            Self::Terms => "terms",
            Self::Alternation => "alternation",
            Self::Takeover => "takeover",
            Self::Fencing => "fencing",
        }
    }
}

/// All checks of one election.
pub(crate) fn violations(
    lives: &[ProcessLife<'_>],
    leaderships: &[ObservedLeadership],
    takeovers: &[Takeover],
    limits: &Limits,
) -> Vec<HistoryViolation> {
    let mut violations = overlap::check(leaderships);
    violations.extend(ends::check(leaderships));
    violations.extend(terms::check(leaderships));
    violations.extend(lives.iter().flat_map(alternation::check));
    violations.extend(limits.max_failover.iter().flat_map(|max| takeovers::check(lives, leaderships, takeovers, *max)));
    violations
}

/// Says what to do when the end of a leadership is a guess.
const IF_KILLED: &str = "if that process was killed, add a killed line";

#[cfg(test)]
mod tests;
