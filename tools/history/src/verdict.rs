//! What is to be said about a history.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use tenure_core::ElectionName;

use crate::checks::{self, HistoryViolation, Register, Spread, Takeover};
use crate::event::MalformedLine;
use crate::leadership::{ObservedLeadership, leaderships};
use crate::life::ProcessLife;
use crate::show::{as_text, count};

/// What is demanded beyond what must always hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// How long nobody may lead between two leaders.
    pub max_failover: Option<Duration>,
}

/// The verdict on everything that was read.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryVerdict {
    /// One for each election, by name.
    pub elections: Vec<ElectionVerdict>,
    /// One for each resource that told of its writes, by name.
    pub registers: Vec<Register>,
    /// Lines that should be events and cannot be read.
    pub malformed: Vec<MalformedLine>,
    /// Events that have no meaning here.
    pub unknown_events: usize,
    /// Lines that are not meant as events.
    pub other_lines: usize,
}

impl HistoryVerdict {
    /// Everything that must not happen and did.
    pub fn violations(&self) -> impl Iterator<Item = &HistoryViolation> {
        let of_elections = self.elections.iter().flat_map(|election| &election.violations);
        of_elections.chain(self.registers.iter().flat_map(|register| &register.violations))
    }

    /// Whether there was anything to judge.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elections.is_empty() && self.registers.is_empty()
    }

    /// Whether something was judged, all of it could be read, and nothing of it is a violation.
    #[must_use]
    pub fn is_good(&self) -> bool {
        !self.is_empty() && self.malformed.is_empty() && self.violations().next().is_none()
    }
}

/// The verdict on one election.
#[derive(Debug, Clone, Serialize)]
pub struct ElectionVerdict {
    /// Which one.
    #[serde(serialize_with = "as_text")]
    pub election: ElectionName,
    /// How many processes took part.
    pub processes: usize,
    /// How many candidate ids they had.
    pub candidates: usize,
    /// Who led, from when to when, by the beginning.
    pub leaderships: Vec<ObservedLeadership>,
    /// The changes between them.
    pub takeovers: Vec<Takeover>,
    /// How the times of all takeovers are spread.
    pub takeover_times: Option<Spread>,
    /// The same by how the earlier leadership ended.
    pub takeover_times_by_reason: BTreeMap<String, Spread>,
    /// What must not happen and did.
    pub violations: Vec<HistoryViolation>,
}

impl ElectionVerdict {
    pub(crate) fn new(election: &ElectionName, lives: &[ProcessLife<'_>], limits: &Limits) -> Self {
        let leaderships = leaderships(lives);
        let takeovers = checks::takeovers(&leaderships);
        let mut candidates: Vec<_> = lives.iter().map(|life| life.candidate).collect();
        candidates.dedup();
        Self {
            election: election.clone(),
            processes: lives.len(),
            candidates: candidates.len(),
            takeover_times: Spread::of(takeovers.iter().map(|takeover| takeover.took_ns).collect()),
            takeover_times_by_reason: checks::by_reason(&takeovers),
            violations: checks::violations(lives, &leaderships, &takeovers, limits),
            leaderships,
            takeovers,
        }
    }

    /// Who took part, in half a sentence.
    pub(crate) fn summary(&self) -> String {
        let mut parts = vec![count(self.candidates, "candidate")];
        if self.processes != self.candidates {
            // There are never fewer processes than candidates, so there is more than one.
            parts.push(format!("{} processes", self.processes));
        }
        parts.push(count(self.leaderships.len(), "leadership"));
        let terms = self.leaderships.iter().map(|leadership| leadership.term);
        parts.extend(terms.clone().min().zip(terms.max()).map(|(first, last)| format!("terms {first} to {last}")));
        parts.join(", ")
    }
}

impl fmt::Display for HistoryVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for election in &self.elections {
            write!(f, "{election}")?;
        }
        for register in &self.registers {
            write!(f, "{register}")?;
        }
        for MalformedLine { line, problem } in &self.malformed {
            writeln!(f, "{line}: cannot be read: {problem}")?;
        }
        if self.is_empty() {
            writeln!(f, "there are no events to judge")?;
        }
        let passed_over = [(self.unknown_events, "unknown event"), (self.other_lines, "other line")];
        let passed_over = passed_over.iter().filter(|(number, _)| *number > 0);
        let passed_over: Vec<String> = passed_over.map(|(number, noun)| count(*number, noun)).collect();
        if !passed_over.is_empty() {
            writeln!(f, "passed over: {}", passed_over.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for ElectionVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "election {}: {}", self.election, self.summary())?;
        if let Some(times) = &self.takeover_times {
            writeln!(f, "  takeovers: {times}")?;
        }
        for (reason, times) in &self.takeover_times_by_reason {
            writeln!(f, "    {reason}: {times}")?;
        }
        if self.violations.is_empty() {
            return writeln!(f, "  good: no two leaders overlapped, and terms only grew");
        }
        self.violations.iter().try_for_each(|violation| writeln!(f, "  violation: {violation}"))
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.fenced { "fenced" } else { "not fenced" };
        let writes = count(self.accepted, "write");
        writeln!(f, "resource {}, {kind}: {writes} taken, {} of them stale", self.resource, self.stale)?;
        self.violations.iter().try_for_each(|violation| writeln!(f, "  violation: {violation}"))
    }
}
