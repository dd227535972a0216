//! From when to when somebody led.

use serde::Serialize;
use tenure_core::CandidateId;

use crate::event::{HistoryEvent, HistoryEventKind, LineSource};
use crate::life::ProcessLife;
use crate::show::as_text;

/// One term of one process.
#[derive(Debug, Clone, Serialize)]
pub struct ObservedLeadership {
    /// Who led.
    #[serde(serialize_with = "as_text")]
    pub candidate: CandidateId,
    /// In which process, where that is told.
    pub pid: Option<u32>,
    /// Under which term.
    pub term: u64,
    /// From when on, on `CLOCK_BOOTTIME`.
    pub start_boot_ns: u64,
    /// The line that says so.
    pub start_line: LineSource,
    /// How it ended.
    pub end: LeadershipEnd,
}

/// How a leadership ended, and when at the latest.
#[derive(Debug, Clone, Serialize)]
pub struct LeadershipEnd {
    /// How.
    pub how: Ending,
    /// When, on `CLOCK_BOOTTIME`; for an untold end, up to when it was trusted as far as is known.
    pub boot_ns: u64,
    /// The line that says so, if one does.
    pub line: Option<LineSource>,
}

/// How a leadership ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// The leader said that it lost, and why.
    Lost(String),
    /// The process was killed, as somebody else says.
    Killed,
    /// The process stopped, without saying that it lost.
    Stopped,
    /// The process was elected again, without saying that it lost.
    ElectedAgain,
    /// The process printed its renewals, and then no more: trust ran out.
    Lapsed,
    /// Nothing tells. It may lead still.
    Untold,
}

impl Ending {
    /// The end in one word, to sort takeovers by.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Lost(reason) => reason,
            Self::Killed => "killed",
            Self::Stopped => "stopped",
            Self::ElectedAgain => "elected again",
            Self::Lapsed => "lapsed",
            Self::Untold => "untold",
        }
    }
}

/// All leaderships of an election by their beginning; at the same nanosecond by term, since nothing tells which was first.
pub(crate) fn leaderships(lives: &[ProcessLife<'_>]) -> Vec<ObservedLeadership> {
    let mut all: Vec<ObservedLeadership> = lives.iter().flat_map(of_life).collect();
    all.sort_by_key(|leadership| (leadership.start_boot_ns, leadership.term));
    all
}

fn of_life(life: &ProcessLife<'_>) -> Vec<ObservedLeadership> {
    let renewals_are_told = life.events.iter().any(|event| matches!(event.what, HistoryEventKind::Renewed { .. }));
    let mut ended = Vec::new();
    let mut open: Option<OpenLeadership<'_>> = None;
    for event in &life.events {
        let how = match &event.what {
            HistoryEventKind::Other => continue,
            HistoryEventKind::Renewed { term, trusted_until } => {
                if let Some(open) = open.as_mut().filter(|open| open.term == *term) {
                    open.trusted_until = open.trusted_until.max(Some(*trusted_until));
                }
                continue;
            }
            HistoryEventKind::Elected { .. } => Ending::ElectedAgain,
            HistoryEventKind::Lost { reason, .. } => Ending::Lost(reason.clone()),
            HistoryEventKind::Stopped => Ending::Stopped,
            HistoryEventKind::Killed => Ending::Killed,
        };
        ended.extend(open.take().map(|open| open.end(life, how, event)));
        if let HistoryEventKind::Elected { term, trusted_until } = event.what {
            open = Some(OpenLeadership { term, event, trusted_until, renewals_are_told });
        }
    }
    ended.extend(open.map(|open| open.fall_silent(life)));
    ended
}

/// A leadership whose end has not been read yet.
struct OpenLeadership<'a> {
    term: u64,
    event: &'a HistoryEvent,
    /// The newest trust that was told.
    trusted_until: Option<u64>,
    /// Whether there is no newer trust than that.
    renewals_are_told: bool,
}

impl OpenLeadership<'_> {
    /// Nobody leads beyond its trust, whatever it was doing: a process that was paused says only afterwards that it lost.
    fn end(self, life: &ProcessLife<'_>, how: Ending, event: &HistoryEvent) -> ObservedLeadership {
        let trusted_until = match event.what {
            HistoryEventKind::Lost { trusted_until, .. } => trusted_until,
            _ => self.trusted_until.filter(|_| self.renewals_are_told),
        };
        let boot_ns = trusted_until.unwrap_or(u64::MAX).min(event.boot_ns);
        self.close(life, LeadershipEnd { how, boot_ns, line: Some(event.source.clone()) })
    }

    fn fall_silent(self, life: &ProcessLife<'_>) -> ObservedLeadership {
        let told = self.renewals_are_told && self.trusted_until.is_some();
        let how = if told { Ending::Lapsed } else { Ending::Untold };
        let boot_ns = self.trusted_until.unwrap_or(self.event.boot_ns);
        self.close(life, LeadershipEnd { how, boot_ns, line: None })
    }

    fn close(self, life: &ProcessLife<'_>, end: LeadershipEnd) -> ObservedLeadership {
        ObservedLeadership {
            candidate: life.candidate.clone(),
            pid: life.pid,
            term: self.term,
            start_boot_ns: self.event.boot_ns,
            start_line: self.event.source.clone(),
            end: LeadershipEnd { boot_ns: end.boot_ns.max(self.event.boot_ns), ..end },
        }
    }
}
