//! What a search found.

use std::fmt;
use std::time::Duration;

use super::laws::{Law, ModelSituation};
use crate::tally::grouped;

/// How far a search has come.
#[derive(Debug, Clone, Copy)]
pub struct SearchProgress {
    /// States that differ from each other.
    pub unique: usize,
    /// States that were computed, most of them more than once.
    pub generated: usize,
    /// Time spent.
    pub elapsed: Duration,
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct SearchReport {
    /// How many candidates stood in the election.
    pub candidates: u8,
    /// The most steps of a history.
    pub depth: u8,
    /// How much was searched, and how long that took.
    pub progress: SearchProgress,
    /// The first history that was found to break a law, if one was. The search ends with it.
    pub violation: Option<LawViolation>,
    /// What was seen to happen.
    pub reached: Vec<ModelSituation>,
}

/// A history that breaks a law.
#[derive(Debug, Clone)]
pub struct LawViolation {
    /// What its last step broke.
    pub laws: Vec<Law>,
    /// Each step, in words.
    pub path: Vec<String>,
    /// Steps that were not just time passing.
    pub steps: u8,
}

impl SearchReport {
    /// No law was broken, and everything that must be seen was seen.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.violation.is_none() && self.missed().next().is_none()
    }

    /// What should have been seen to happen, but was not.
    pub fn missed(&self) -> impl Iterator<Item = ModelSituation> {
        ModelSituation::ALL.into_iter().filter(|situation| !self.reached.contains(situation))
    }
}

impl fmt::Display for SearchProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} states ({} generated)", grouped(self.unique as u64), grouped(self.generated as u64))
    }
}

impl fmt::Display for LawViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for law in &self.laws {
            writeln!(f, "violated after {} steps: {law}", self.steps)?;
        }
        self.path.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// The violation, if any, what was missed, if anything, and one line that sums up.
impl fmt::Display for SearchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(violation) = &self.violation {
            write!(f, "{violation}")?;
        } else {
            self.missed().try_for_each(|situation| writeln!(f, "not reached: {situation}"))?;
        }
        write!(
            f,
            "model: {}, depth {}, {} candidates, {} of {} situations reached, {}, {:.1} s",
            self.progress,
            self.depth,
            self.candidates,
            self.reached.len(),
            ModelSituation::ALL.len(),
            if self.violation.is_some() { "VIOLATED" } else { "no violation" },
            self.progress.elapsed.as_secs_f64(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> SearchReport {
        let progress =
            SearchProgress { unique: 1_234_567, generated: 4_567_890, elapsed: Duration::from_millis(11_200) };
        SearchReport { candidates: 2, depth: 17, progress, violation: None, reached: ModelSituation::ALL.to_vec() }
    }

    #[test]
    fn a_good_report_is_one_line() {
        assert!(report().is_good());
        assert_eq!(
            report().to_string(),
            "model: 1,234,567 states (4,567,890 generated), depth 17, 2 candidates, 9 of 9 situations reached, no \
             violation, 11.2 s"
        );
    }

    #[test]
    fn a_situation_that_was_missed_is_named_and_is_not_good() {
        let mut report = report();
        report.reached.retain(|situation| *situation != ModelSituation::Takeover);
        assert!(!report.is_good());
        assert!(report.to_string().starts_with("not reached: takeover after expiry\n"), "{report}");
    }

    #[test]
    fn a_violation_is_told_step_by_step_and_is_not_good() {
        let path = vec!["t=0.000s a pauses".to_owned()];
        let report =
            SearchReport { violation: Some(LawViolation { laws: vec![Law::OneTrusts], path, steps: 1 }), ..report() };
        assert!(!report.is_good());
        let text = report.to_string();
        assert!(text.starts_with("violated after 1 steps: at most one candidate trusts itself\n  t=0.000s a pauses\n"));
        assert!(text.contains("VIOLATED"), "{text}");
    }
}
