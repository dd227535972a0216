//! Counts tests from what the test harness prints.

use std::ops::AddAssign;

/// How many single tests passed, failed, or were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestTally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

impl AddAssign for TestTally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// The numbers of a `test result: …` line; zero for any other line.
pub(crate) fn of_line(line: &str) -> TestTally {
    let mut tally = TestTally::default();
    let Some((_, numbers)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
        return tally;
    };
    for number in numbers.split(';') {
        let mut words = number.split_whitespace();
        let (Some(count), Some(what)) = (words.next().and_then(|count| count.parse().ok()), words.next()) else {
            continue;
        };
        match what {
            "passed" => tally.passed = count,
            "failed" => tally.failed = count,
            // A test that was filtered out did not run either.
            "ignored" | "filtered" => tally.ignored += count,
            _ => {}
        }
    }
    tally
}

/// True for the line of one passed test; used for progress only, the result line is what counts.
pub(crate) fn is_passed_test(line: &str) -> bool {
    line.starts_with("test ") && line.ends_with(" ... ok")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_is_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 2 ignored; 0 measured; 1 filtered out; finished in 0.10s";
        assert_eq!(of_line(line), TestTally { passed: 12, failed: 3, ignored: 3 });
    }

    #[test]
    fn other_lines_count_nothing() {
        assert_eq!(of_line("test a ... ok"), TestTally::default());
        assert_eq!(of_line("running 3 tests"), TestTally::default());
        assert_eq!(of_line("  test result: ok. 1 passed; 0 failed"), TestTally::default());
    }

    #[test]
    fn passed_tests_are_recognised() {
        assert!(is_passed_test("test tests::works ... ok"));
        assert!(!is_passed_test("test tests::works ... FAILED"));
    }
}
