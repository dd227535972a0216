//! How stores write down how a run ended: a word, and for a failure what went wrong.

use super::ledger::JobOrder;
use super::ledger::Outcome;

/// The word, and what went wrong.
#[must_use]
pub fn to_words(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Succeeded => ("succeeded", None),
        Outcome::Failed { why } => ("failed", Some(why)),
        Outcome::TimedOut => ("timed-out", None),
        Outcome::Cancelled => ("cancelled", None),
        Outcome::NotBegun => ("not-begun", None),
    }
}

/// The opposite of [`to_words`]; `None` for words that were never written.
#[must_use]
pub fn from_words(word: &str, why: Option<String>) -> Option<Outcome> {
    match word {
        "succeeded" => Some(Outcome::Succeeded),
        "failed" => Some(Outcome::Failed { why: why.unwrap_or_default() }),
        "timed-out" => Some(Outcome::TimedOut),
        "cancelled" => Some(Outcome::Cancelled),
        "not-begun" => Some(Outcome::NotBegun),
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
        let failed = Outcome::Failed { why: "no such table".to_owned() };
        for outcome in [Outcome::Succeeded, failed, Outcome::TimedOut, Outcome::Cancelled, Outcome::NotBegun] {
            let (word, why) = to_words(&outcome);
            assert_eq!(from_words(word, why.map(str::to_owned)), Some(outcome));
        }
        assert_eq!(from_words("", None), None);
    }
}
