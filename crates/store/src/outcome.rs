//! How stores write down how a run ended: a word, and for a failure what went wrong.

use super::ledger::JobOrder;
use super::ledger::RunOutcome;

/// The word, and what went wrong.
#[must_use]
pub fn to_words(outcome: &RunOutcome) -> (&'static str, Option<&str>) {
    match outcome {
        RunOutcome::Succeeded => ("succeeded", None),
        RunOutcome::Failed { why } => ("failed", Some(why)),
        RunOutcome::TimedOut => ("timed-out", None),
        RunOutcome::Cancelled => ("cancelled", None),
        RunOutcome::NotBegun => ("not-begun", None),
    }
}

/// The opposite of [`to_words`]; `None` for words that were never written.
#[must_use]
pub fn from_words(word: &str, why: Option<String>) -> Option<RunOutcome> {
    match word {
        "succeeded" => Some(RunOutcome::Succeeded),
        "failed" => Some(RunOutcome::Failed { why: why.unwrap_or_default() }),
        "timed-out" => Some(RunOutcome::TimedOut),
        "cancelled" => Some(RunOutcome::Cancelled),
        "not-begun" => Some(RunOutcome::NotBegun),
        _ => None,
    }
}

/// How servers are told what somebody wants of a job.
#[must_use]
pub fn order_word(order: JobOrder) -> &'static str {
    match order {
        JobOrder::Pause => "pause",
        JobOrder::Resume => "resume",
        JobOrder::RunNow => "run-now",
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
            let (word, why) = to_words(&outcome);
            assert_eq!(from_words(word, why.map(str::to_owned)), Some(outcome));
        }
        assert_eq!(from_words("", None), None);
    }
}
