//! Whether two runs of one job went on at once.

use super::Evidence;
use crate::journal::JournalLine;
use crate::strike::{Strike, StrikeKind};

/// When a run went on, by the clock that all processes share.
struct Span<'a> {
    begin: &'a JournalLine,
    until_ns: u64,
}

impl Evidence {
    /// Pairs of runs that went on at once, and runs of which nobody knows when they ended.
    pub(super) fn overlaps(&self, begins: &[&JournalLine], ends: &[&JournalLine]) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut spans = Vec::new();
        for begin in begins {
            match self.until_ns(begin, ends) {
                Some(until_ns) => spans.push(Span { begin, until_ns }),
                None => wrong.push(format!("tick {} has no end: {begin:?}", begin.tick)),
            }
        }
        spans.sort_by_key(|span| span.begin.at.boot_ns);
        let mut longest: Option<&Span<'_>> = None;
        for span in &spans {
            if let Some(before) = longest.filter(|before| span.begin.at.boot_ns < before.until_ns)
                && span.until_ns > span.begin.at.boot_ns
            {
                let by = before.until_ns - span.begin.at.boot_ns;
                wrong.push(format!("two runs at once for {by} ns: {:?}, {:?}", before.begin, span.begin));
            }
            if longest.is_none_or(|before| span.until_ns > before.until_ns) {
                longest = Some(span);
            }
        }
        wrong
    }

    /// Until when a run may have done anything. One that was killed did nothing afterwards; nor did one that stood still, and
    /// knew when it went on that it had to stop.
    fn until_ns(&self, begin: &JournalLine, ends: &[&JournalLine]) -> Option<u64> {
        let own = ends.iter().find(|end| end.tick == begin.tick && end.candidate == begin.candidate);
        let of = |kind: StrikeKind| {
            let is_of = move |strike: &&Strike| strike.kind == kind && strike.candidate == begin.candidate;
            self.strikes.iter().filter(is_of).filter(|strike| strike.done.boot_ns >= begin.at.boot_ns)
        };
        // It may still have begun while it was being struck.
        let cut_short = |strike: &Strike| strike.from.boot_ns.max(begin.at.boot_ns);
        let Some(end) = own else { return of(StrikeKind::Kill).map(cut_short).next() };
        if begin.told && self.strikes.iter().any(|strike| strike.paused_before(begin)) {
            return Some(begin.at.boot_ns);
        }
        let pause = of(StrikeKind::Pause).find(|strike| strike.done.boot_ns <= end.at.boot_ns).filter(|_| end.told);
        Some(pause.map_or(end.at.boot_ns, cut_short))
    }
}
