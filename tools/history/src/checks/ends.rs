//! Whoever is followed by another leader has ended, and something tells when.
//!
//! A leader that falls silent may have been renewed many times since it was elected. That the next one began after the
//! only trust that is known proves nothing.

use super::{Check, HistoryViolation, IF_KILLED};
use crate::leadership::{Ending, ObservedLeadership};

pub(super) fn check(leaderships: &[ObservedLeadership]) -> Vec<HistoryViolation> {
    leaderships.windows(2).filter_map(|pair| violation(&pair[0], &pair[1])).collect()
}

/// Where the known trust reaches to the next leader there is an overlap, which is reported as such.
fn violation(earlier: &ObservedLeadership, later: &ObservedLeadership) -> Option<HistoryViolation> {
    let unproven = earlier.end.how == Ending::Untold && earlier.end.boot_ns <= later.start_boot_ns;
    unproven.then(|| HistoryViolation {
        check: Check::End,
        message: format!(
            "no line tells when term {} of {} ended, and {} began term {}; {IF_KILLED}, or let it print renewals",
            earlier.term, earlier.candidate, later.candidate, later.term,
        ),
        lines: vec![earlier.start_line.clone(), later.start_line.clone()],
        between_boot_ns: None,
    })
}
