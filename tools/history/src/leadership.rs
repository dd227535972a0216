//! From when to when somebody led.

use serde::Serialize;
use tenure_core::CandidateId;

use crate::event::{Event, Source, What};
use crate::life::Life;
use crate::show::as_text;

/// One term of one process.
#[derive(Debug, Clone, Serialize)]
pub struct Leadership {
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
    pub start_line: Source,
    /// How it ended.
    pub end: End,
}

/// How a leadership ended, and when at the latest.
#[derive(Debug, Clone, Serialize)]
pub struct End {
    /// How.
    pub how: Ending,
    /// When, on `CLOCK_BOOTTIME`; for an untold end, up to when it was trusted as far as is known.
    pub boot_ns: u64,
    /// The line that says so, if one does.
    pub line: Option<Source>,
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
pub(crate) fn leaderships(lives: &[Life<'_>]) -> Vec<Leadership> {
    let mut all: Vec<Leadership> = lives.iter().flat_map(of_life).collect();
    all.sort_by_key(|leadership| (leadership.start_boot_ns, leadership.term));
    all
}

fn of_life(life: &Life<'_>) -> Vec<Leadership> {
    let renewals_are_told = life.events.iter().any(|event| matches!(event.what, What::Renewed { .. }));
    let mut ended = Vec::new();
    let mut open: Option<Open<'_>> = None;
    for event in &life.events {
        let how = match &event.what {
            What::Other => continue,
            What::Renewed { term, trusted_until } => {
                if let Some(open) = open.as_mut().filter(|open| open.term == *term) {
                    open.trusted_until = open.trusted_until.max(Some(*trusted_until));
                }
                continue;
            }
            What::Elected { .. } => Ending::ElectedAgain,
            What::Lost { reason, .. } => Ending::Lost(reason.clone()),
            What::Stopped => Ending::Stopped,
            What::Killed => Ending::Killed,
        };
        ended.extend(open.take().map(|open| open.end(life, how, event)));
        if let What::Elected { term, trusted_until } = event.what {
            open = Some(Open { term, event, trusted_until, renewals_are_told });
        }
    }
    ended.extend(open.map(|open| open.fall_silent(life)));
    ended
}

/// A leadership whose end has not been read yet.
struct Open<'a> {
    term: u64,
    event: &'a Event,
    /// The newest trust that was told.
    trusted_until: Option<u64>,
    /// Whether there is no newer trust than that.
    renewals_are_told: bool,
}

impl Open<'_> {
    /// Nobody leads beyond its trust, whatever it was doing: a process that was paused says only afterwards that it lost.
    fn end(self, life: &Life<'_>, how: Ending, event: &Event) -> Leadership {
        let trusted_until = match event.what {
            What::Lost { trusted_until, .. } => trusted_until,
            _ => self.trusted_until.filter(|_| self.renewals_are_told),
        };
        let boot_ns = trusted_until.unwrap_or(u64::MAX).min(event.boot_ns);
        self.close(life, End { how, boot_ns, line: Some(event.source.clone()) })
    }

    fn fall_silent(self, life: &Life<'_>) -> Leadership {
        let told = self.renewals_are_told && self.trusted_until.is_some();
        let how = if told { Ending::Lapsed } else { Ending::Untold };
        let boot_ns = self.trusted_until.unwrap_or(self.event.boot_ns);
        self.close(life, End { how, boot_ns, line: None })
    }

    fn close(self, life: &Life<'_>, end: End) -> Leadership {
        Leadership {
            candidate: life.candidate.clone(),
            pid: life.pid,
            term: self.term,
            start_boot_ns: self.event.boot_ns,
            start_line: self.event.source.clone(),
            end: End { boot_ns: end.boot_ns.max(self.event.boot_ns), ..end },
        }
    }
}
