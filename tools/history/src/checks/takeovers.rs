//! How long nobody led, from the end of one leadership to the beginning of the next.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::{Check, HistoryViolation};
use crate::event::LineSource;
use crate::leadership::{Ending, ObservedLeadership};
use crate::life::ProcessLife;
use crate::show::span;

/// A change of leaders between which nobody led.
#[derive(Debug, Clone, Serialize)]
pub struct Takeover {
    /// How the earlier leadership ended.
    pub reason: String,
    /// The term that ended.
    pub from_term: u64,
    /// The term that began.
    pub to_term: u64,
    /// When the earlier leadership ended.
    pub end_boot_ns: u64,
    /// How long nobody led.
    pub took_ns: u64,
    /// The lines that tell of the end and of the beginning.
    pub lines: Vec<LineSource>,
}

/// How a number of takeovers are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// How many.
    pub count: usize,
    /// The fastest.
    pub min_ns: u64,
    /// Half of them were at least this fast.
    pub median_ns: u64,
    /// Of a hundred, 99 were at least this fast.
    pub p99_ns: u64,
    /// The slowest.
    pub max_ns: u64,
}

impl Spread {
    /// Sums up; `None` when there is nothing to sum up.
    #[must_use]
    pub fn of(mut spans: Vec<u64>) -> Option<Self> {
        spans.sort_unstable();
        let rank = |percent: usize| spans.get((spans.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(Self { count: spans.len(), min_ns: rank(0)?, median_ns: rank(50)?, p99_ns: rank(99)?, max_ns: rank(100)? })
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { min_ns, median_ns, p99_ns, max_ns, .. } = *self;
        match self.count {
            1 => write!(f, "1, {}", span(max_ns)),
            count => write!(
                f,
                "{count}, min {}, median {}, p99 {}, max {}",
                span(min_ns),
                span(median_ns),
                span(p99_ns),
                span(max_ns)
            ),
        }
    }
}

/// All takeovers. There is none from an end that nothing tells of, and none into an overlap.
pub(crate) fn all(leaderships: &[ObservedLeadership]) -> Vec<Takeover> {
    let mut takeovers = Vec::new();
    let mut last: Option<&ObservedLeadership> = None;
    for next in leaderships {
        takeovers.extend(last.and_then(|last| takeover(last, next)));
        last = last.filter(|last| last.end.boot_ns > next.end.boot_ns).or(Some(next));
    }
    takeovers
}

/// The same by the reason of the end.
pub(crate) fn by_reason(takeovers: &[Takeover]) -> BTreeMap<String, Spread> {
    let mut spans: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for takeover in takeovers {
        spans.entry(&takeover.reason).or_default().push(takeover.took_ns);
    }
    let sum_up = |(reason, spans): (&str, Vec<u64>)| Some((reason.to_owned(), Spread::of(spans)?));
    spans.into_iter().filter_map(sum_up).collect()
}

/// None takes longer than it may, and none fails to come while candidates go on.
pub(super) fn check(
    lives: &[ProcessLife<'_>],
    leaderships: &[ObservedLeadership],
    takeovers: &[Takeover],
    max: Duration,
) -> Vec<HistoryViolation> {
    let max_ns = u64::try_from(max.as_nanos()).unwrap_or(u64::MAX);
    let slow = takeovers.iter().filter(|takeover| takeover.took_ns > max_ns).map(|takeover| HistoryViolation {
        check: Check::Takeover,
        message: format!(
            "it took {} from the end of term {} ({}) to term {}, and at most {} are allowed",
            span(takeover.took_ns),
            takeover.from_term,
            takeover.reason,
            takeover.to_term,
            span(max_ns),
        ),
        lines: takeover.lines.clone(),
        between_boot_ns: Some((takeover.end_boot_ns, takeover.end_boot_ns + takeover.took_ns)),
    });
    slow.chain(nobody(lives, leaderships, max_ns)).collect()
}

fn takeover(last: &ObservedLeadership, next: &ObservedLeadership) -> Option<Takeover> {
    let took_ns = next.start_boot_ns.checked_sub(last.end.boot_ns)?;
    (last.end.how != Ending::Untold).then(|| Takeover {
        reason: last.end.how.reason().to_owned(),
        from_term: last.term,
        to_term: next.term,
        end_boot_ns: last.end.boot_ns,
        took_ns,
        lines: last.end.line.iter().chain([&next.start_line]).cloned().collect(),
    })
}

/// The last leader is gone, and long after that there still are lines, but none of a next leader.
fn nobody(lives: &[ProcessLife<'_>], leaderships: &[ObservedLeadership], max_ns: u64) -> Option<HistoryViolation> {
    let last = leaderships.iter().max_by_key(|leadership| leadership.end.boot_ns)?;
    let heard = lives.iter().flat_map(|life| &life.events).max_by_key(|event| event.boot_ns)?;
    let alone_ns = heard.boot_ns.saturating_sub(last.end.boot_ns);
    let missing = alone_ns > max_ns && last.end.how != Ending::Untold;
    missing.then(|| HistoryViolation {
        check: Check::Takeover,
        message: format!(
            "nobody led after the end of term {} ({}), although lines go on for {}; at most {} are allowed",
            last.term,
            last.end.how.reason(),
            span(alone_ns),
            span(max_ns),
        ),
        lines: last.end.line.iter().chain([&heard.source]).cloned().collect(),
        between_boot_ns: Some((last.end.boot_ns, heard.boot_ns)),
    })
}
