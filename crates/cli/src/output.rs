//! What is printed, for people and for programs.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;
use tenure::store::{Observation, Transition};
use tenure::{Event, EventKind};

use crate::exit::{Exit, Failure};

/// One event as a JSON line. The history checker reads `candidate`, `event`, `term` and `boot_ns`.
#[derive(Debug, Serialize)]
pub struct EventLine<'a> {
    event: &'a str,
    election: &'a str,
    candidate: &'a str,
    term: Option<u64>,
    reason: Option<String>,
    at: String,
    /// `CLOCK_BOOTTIME` of this machine: comparable between its processes, without any clock being right.
    boot_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trusted_until_boot_ns: Option<u64>,
}

impl<'a> EventLine<'a> {
    /// Describes an event; `None` for renewals, which are no news.
    #[must_use]
    pub fn new(election: &'a str, candidate: &'a str, event: &'a Event) -> Option<Self> {
        let mut line = Self {
            event: "",
            election,
            candidate,
            term: None,
            reason: None,
            at: timestamp(event.at_unix_ms),
            boot_ns: event.at.as_nanos(),
            leader: None,
            trusted_until_boot_ns: None,
        };
        match &event.kind {
            EventKind::Elected { term, trust } => {
                line.event = "elected";
                line.term = Some(term.get());
                line.trusted_until_boot_ns = Some(trust.until.as_nanos());
            }
            EventKind::Lost { term, reason, .. } => {
                line.event = "lost";
                line.term = Some(term.get());
                line.reason = Some(reason.as_str().to_owned());
            }
            EventKind::Observed { leader } => {
                line.event = "observed";
                line.term = leader.as_ref().map(|leader| leader.term.get());
                line.leader = leader.as_ref().map(|leader| leader.candidate.as_str());
            }
            EventKind::Error { trouble } => {
                line.event = "error";
                line.reason = Some(trouble.to_string());
            }
            EventKind::Stopped => line.event = "stopped",
            EventKind::Missed { count } => {
                line.event = "error";
                line.reason = Some(format!("{count} events were not read in time and are lost"));
            }
            _ => return None,
        }
        Some(line)
    }
}

/// An event in one sentence; `None` for what people need not know.
#[must_use]
pub fn sentence(election: &str, event: &Event) -> Option<String> {
    Some(match &event.kind {
        EventKind::Elected { term, .. } => format!("leading {election}, term {term}"),
        EventKind::Lost { term, reason, .. } => format!("lost {election}, term {term}: {}", reason.as_str()),
        EventKind::Observed { leader: Some(leader) } => {
            format!("standing by for {election}; {} leads, term {}", leader.candidate, leader.term)
        }
        EventKind::Observed { leader: None } => format!("standing by for {election}; nobody leads"),
        EventKind::Error { trouble } => format!("{election}: {trouble}"),
        _ => return None,
    })
}

/// An election as `tenure status --json` prints it.
#[derive(Debug, Serialize)]
pub struct StatusLine {
    /// The election.
    pub election: String,
    /// Who leads, if anybody.
    pub leader: Option<String>,
    /// The term of the leader, or of the last one.
    pub term: Option<u64>,
    /// How long the lease still runs unless renewed.
    pub remaining_ms: Option<u64>,
    /// Since when it leads.
    pub since: Option<String>,
    /// What the leader published.
    pub metadata: serde_json::Value,
    /// For whom the lease is reserved, if it is.
    pub reserved_for: Option<String>,
    /// Who stands by, the next one first.
    pub standing_by: Vec<String>,
}

impl StatusLine {
    /// Describes what was observed.
    #[must_use]
    pub fn new(election: &str, observed: &Observation) -> Self {
        let lease = observed.lease.as_ref();
        Self {
            election: election.to_owned(),
            leader: lease.map(|lease| lease.leader.candidate.to_string()),
            term: observed.last_term.map(tenure::Term::get),
            remaining_ms: lease.map(|lease| u64::try_from(lease.remaining.as_millis()).unwrap_or(u64::MAX)),
            since: lease.map(|lease| timestamp(lease.leader.since_unix_ms)),
            metadata: lease.map_or_else(|| serde_json::json!({}), |lease| serde_json::json!(*lease.leader.metadata)),
            reserved_for: observed.reserved_for.as_ref().map(ToString::to_string),
            standing_by: observed.standing_by.iter().map(|stand_by| stand_by.candidate.to_string()).collect(),
        }
    }
}

/// A change of leadership as `tenure history --json` prints it.
#[derive(Debug, Serialize)]
pub struct TransitionLine {
    /// When.
    pub at: String,
    /// `elected` or `lost`.
    pub event: &'static str,
    /// Under which term.
    pub term: u64,
    /// Whose leadership.
    pub candidate: String,
    /// Why.
    pub reason: String,
}

impl From<&Transition> for TransitionLine {
    fn from(transition: &Transition) -> Self {
        Self {
            at: timestamp(transition.at_unix_ms),
            event: transition.change.as_str(),
            term: transition.term.get(),
            candidate: transition.candidate.to_string(),
            reason: transition.reason.clone(),
        }
    }
}

/// Milliseconds since the Unix epoch as RFC 3339 in UTC.
#[must_use]
pub fn timestamp(unix_ms: u64) -> String {
    let millis = i64::try_from(unix_ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX).to_string()
}

/// Prints to standard output. A reader that has gone away, as in `tenure status | head`, is no failure.
///
/// # Errors
/// When it cannot be written to, because the disk is full, say.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Internal, format!("cannot write to standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Prints a value as one JSON line.
///
/// # Errors
/// When nobody reads any more.
pub fn json_line(to: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Prints rows under their headings, aligned. Names hold no control characters, so none can move the cursor.
///
/// # Errors
/// When nobody reads any more.
pub fn table(to: &mut dyn Write, headings: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells.zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    writeln!(to, "{}", line(&mut headings.iter().copied()))?;
    for row in rows {
        writeln!(to, "{}", line(&mut row.iter().map(String::as_str)))?;
    }
    to.flush()
}
