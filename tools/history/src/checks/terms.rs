//! Terms grow strictly, and none is used twice.

use super::{Check, HistoryViolation};
use crate::leadership::ObservedLeadership;

pub(super) fn check(leaderships: &[ObservedLeadership]) -> Vec<HistoryViolation> {
    let mut violations = Vec::new();
    let mut highest: Option<&ObservedLeadership> = None;
    for next in leaderships {
        match highest {
            Some(highest) if next.term <= highest.term => violations.push(violation(highest, next)),
            _ => highest = Some(next),
        }
    }
    violations
}

fn violation(earlier: &ObservedLeadership, later: &ObservedLeadership) -> HistoryViolation {
    let message = if earlier.term == later.term {
        format!("term {} was given to {} and again to {}", later.term, earlier.candidate, later.candidate)
    } else {
        format!("term {} of {} came after term {} of {}", later.term, later.candidate, earlier.term, earlier.candidate)
    };
    HistoryViolation {
        check: Check::Terms,
        message,
        lines: vec![earlier.start_line.clone(), later.start_line.clone()],
        between_boot_ns: None,
    }
}
