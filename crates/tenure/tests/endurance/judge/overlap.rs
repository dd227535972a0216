//! Whether two runs of one job went on at once.

use super::Evidence;
use crate::journal::Line;
use crate::strike::{Kind, Strike};

/// When a run went on, by the clock that all processes share.
struct Span<'a> {
    begin: &'a Line,
    until_ns: u64,
}

impl Evidence {
    /// Pairs of runs that went on at once, and runs of which nobody knows when they ended.
    pub(super) fn overlaps(&self, begins: &[&Line], ends: &[&Line]) -> Vec<String> {
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

    /// Until when a run may have done anything. One that stood still, and knew when it went on that it had to stop, did
    /// nothing after it stood still.
    fn until_ns(&self, begin: &Line, ends: &[&Line]) -> Option<u64> {
        let is_of = |strike: &&Strike| strike.candidate == begin.candidate;
        let own = ends.iter().find(|end| end.tick == begin.tick && end.candidate == begin.candidate);
        let Some(end) = own else {
            let kills = self.strikes.iter().filter(is_of).filter(|strike| strike.kind == Kind::Kill);
            return kills.map(|strike| strike.until.boot_ns).find(|killed_ns| *killed_ns >= begin.at.boot_ns);
        };
        if begin.told && self.strikes.iter().any(|strike| strike.paused_before(begin)) {
            return Some(begin.at.boot_ns);
        }
        let pauses = self.strikes.iter().filter(|strike| strike.is_pause_of(&begin.candidate));
        let during = pauses.map(|strike| strike.from.boot_ns);
        let mut during = during.filter(|from_ns| (begin.at.boot_ns..=end.at.boot_ns).contains(from_ns));
        Some(if end.told { during.next().unwrap_or(end.at.boot_ns) } else { end.at.boot_ns })
    }
}
