//! At no instant do two lead.

use super::{Check, HistoryViolation, IF_KILLED};
use crate::leadership::{Ending, ObservedLeadership};
use crate::show::span;

/// A leadership ends before the instant of its end: who begins at that very nanosecond is alone.
pub(super) fn check(leaderships: &[ObservedLeadership]) -> Vec<HistoryViolation> {
    let mut violations = Vec::new();
    let mut leading: Vec<&ObservedLeadership> = Vec::new();
    for next in leaderships {
        leading.retain(|earlier| earlier.end.boot_ns > next.start_boot_ns);
        violations.extend(leading.iter().map(|earlier| violation(earlier, next)));
        leading.push(next);
    }
    violations
}

fn violation(earlier: &ObservedLeadership, later: &ObservedLeadership) -> HistoryViolation {
    let until = earlier.end.boot_ns.min(later.end.boot_ns);
    let mut message = format!(
        "{} under term {} and {} under term {} led at once for {}, from boot_ns {} to {until}",
        earlier.candidate,
        earlier.term,
        later.candidate,
        later.term,
        span(until - later.start_boot_ns),
        later.start_boot_ns,
    );
    if let Ending::Lapsed | Ending::Untold = earlier.end.how {
        message.push_str(&format!("; no line tells how term {} ended: {IF_KILLED}", earlier.term));
    }
    let lines = [Some(&earlier.start_line), earlier.end.line.as_ref(), Some(&later.start_line)];
    HistoryViolation {
        check: Check::Overlap,
        message,
        lines: lines.into_iter().flatten().cloned().collect(),
        between_boot_ns: Some((later.start_boot_ns, until)),
    }
}
