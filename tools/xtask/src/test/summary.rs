//! The one summary at the end of a run.

use std::time::Duration;

use crate::tally::TestTally;

/// What became of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartOutcome {
    Passed,
    Failed,
    NotRun,
}

impl PartOutcome {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::NotRun => "not run",
        }
    }
}

/// A part in the summary.
pub(crate) struct PartSummary {
    pub(crate) name: &'static str,
    pub(crate) outcome: PartOutcome,
    pub(crate) took: Duration,
    pub(crate) tally: TestTally,
}

impl PartSummary {
    pub(crate) fn not_run(name: &'static str) -> Self {
        Self { name, outcome: PartOutcome::NotRun, took: Duration::ZERO, tally: TestTally::default() }
    }

    /// Its result on one line: the outcome, the seconds and, if it ran tests, their number.
    pub(crate) fn result(&self) -> String {
        match self.outcome {
            PartOutcome::NotRun => self.outcome.word().to_owned(),
            PartOutcome::Passed | PartOutcome::Failed => {
                format!("{}, {:.1} s{}", self.outcome.word(), self.took.as_secs_f64(), self.tests())
            }
        }
    }

    /// The same in columns.
    fn row(&self) -> String {
        match self.outcome {
            PartOutcome::NotRun => format!("  {:12} {}", self.name, self.outcome.word()),
            PartOutcome::Passed | PartOutcome::Failed => {
                let seconds = self.took.as_secs_f64();
                format!("  {:12} {:6} {seconds:7.1} s{}", self.name, self.outcome.word(), self.tests())
            }
        }
    }

    fn tests(&self) -> String {
        let TestTally { passed, failed, ignored } = self.tally;
        match passed + failed + ignored {
            0 => String::new(),
            all => format!(", {passed} of {all} tests passed"),
        }
    }

    /// A part that failed for another reason than a test, such as code that does not compile, counts as one failure:
    /// the closing line must never say that nothing failed when something did.
    fn failures(&self) -> u64 {
        let tests = self.tally.failed + self.tally.ignored;
        if self.outcome == PartOutcome::Failed { tests.max(1) } else { tests }
    }
}

/// True as long as no part has failed.
pub(crate) fn is_success(entries: &[PartSummary]) -> bool {
    entries.iter().all(|entry| entry.outcome != PartOutcome::Failed)
}

/// The summary's lines; the last one, alone, counts single tests.
pub(crate) fn lines(entries: &[PartSummary]) -> Vec<String> {
    let mut lines = vec![String::new(), "Summary".to_owned()];
    lines.extend(entries.iter().map(PartSummary::row));
    if entries.iter().any(|entry| entry.outcome == PartOutcome::NotRun) {
        lines.push("Stopped at the first failure; --keep-going runs the rest too.".to_owned());
    }
    let passed: u64 = entries.iter().map(|entry| entry.tally.passed).sum();
    let failed: u64 = entries.iter().map(PartSummary::failures).sum();
    lines.extend([String::new(), format!("{passed} passed, {failed} failed")]);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(outcome: PartOutcome, passed: u64, failed: u64, ignored: u64) -> PartSummary {
        let tally = TestTally { passed, failed, ignored };
        PartSummary { name: "part", outcome, took: Duration::from_millis(1234), tally }
    }

    fn closing_line(entries: &[PartSummary]) -> String {
        lines(entries).pop().unwrap()
    }

    #[test]
    fn the_closing_line_sums_tests() {
        let entries = [entry(PartOutcome::Passed, 3, 0, 0), entry(PartOutcome::Passed, 4, 0, 0)];
        assert_eq!(closing_line(&entries), "7 passed, 0 failed");
        assert!(is_success(&entries));
    }

    #[test]
    fn ignored_tests_and_parts_without_tests_count_as_failed() {
        assert_eq!(closing_line(&[entry(PartOutcome::Failed, 3, 1, 2)]), "3 passed, 3 failed");
        assert_eq!(closing_line(&[entry(PartOutcome::Failed, 0, 0, 0)]), "0 passed, 1 failed");
    }

    #[test]
    fn parts_show_outcome_and_seconds() {
        let all = lines(&[entry(PartOutcome::Failed, 1, 1, 0), PartSummary::not_run("last")]).join("\n");
        assert!(
            all.contains("  part         FAILED     1.2 s, 1 of 2 tests passed\n  last         not run\n"),
            "{all}"
        );
        assert!(all.contains("--keep-going"));
        assert_eq!(entry(PartOutcome::Passed, 0, 0, 0).result(), "ok, 1.2 s");
    }
}
