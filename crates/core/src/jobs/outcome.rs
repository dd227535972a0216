//! The outcome of a run, and its words.

use std::fmt;

/// The outcome of a run. Stores write it down by its [words](Self::to_words).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunOutcome {
    /// The run succeeded.
    Succeeded,
    /// The run failed.
    Failed {
        /// Which one.
        why: String,
    },
    /// The run exceeded its timeout, and was stopped.
    TimedOut,
    /// The leadership ended, and the run was stopped.
    Cancelled,
    /// Claimed but never started: the tick is given back, and a later leader may still run it. Reported only if it is
    /// certain that nothing was done.
    NotBegun,
}

impl RunOutcome {
    /// The label used in metrics and in JSON.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed { .. } => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::NotBegun => "not_begun",
        }
    }

    /// The reason of a failure.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Failed { why } => Some(why),
            Self::Succeeded | Self::TimedOut | Self::Cancelled | Self::NotBegun => None,
        }
    }

    /// Encodes the outcome for stores: one word and, for a failure, its reason.
    #[must_use]
    pub fn to_words(&self) -> (&'static str, Option<&str>) {
        let word = match self {
            Self::Succeeded => "succeeded",
            Self::Failed { .. } => "failed",
            Self::TimedOut => "timed-out",
            Self::Cancelled => "cancelled",
            Self::NotBegun => "not-begun",
        };
        (word, self.why())
    }

    /// The opposite of [`to_words`](Self::to_words); `None` for words that were never written.
    #[must_use]
    pub fn from_words(word: &str, why: Option<String>) -> Option<Self> {
        match word {
            "succeeded" => Some(Self::Succeeded),
            "failed" => Some(Self::Failed { why: why.unwrap_or_default() }),
            "timed-out" => Some(Self::TimedOut),
            "cancelled" => Some(Self::Cancelled),
            "not-begun" => Some(Self::NotBegun),
            _ => None,
        }
    }
}

impl fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded => f.write_str("succeeded"),
            Self::Failed { why } => f.write_str(why),
            Self::TimedOut => f.write_str("timed out"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::NotBegun => f.write_str("never began"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let failed = RunOutcome::Failed { why: "no such table".to_owned() };
        for outcome in
            [RunOutcome::Succeeded, failed, RunOutcome::TimedOut, RunOutcome::Cancelled, RunOutcome::NotBegun]
        {
            let (word, why) = outcome.to_words();
            assert_eq!(RunOutcome::from_words(word, why.map(str::to_owned)), Some(outcome));
        }
        assert_eq!(RunOutcome::from_words("", None), None);
    }
}
