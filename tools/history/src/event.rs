//! One line of input.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use tenure_core::{CandidateId, ElectionName};

/// Where a line stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineSource {
    /// The name of the file.
    pub file: Arc<str>,
    /// The number of the line, from 1.
    pub line: usize,
}

impl fmt::Display for LineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Serialize for LineSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A line that should be an event and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MalformedLine {
    /// Where it stands.
    pub line: LineSource,
    /// What is wrong with it.
    pub problem: String,
}

/// Something that happened to a process that stands in an election.
#[derive(Debug, Clone)]
pub(crate) struct HistoryEvent {
    pub(crate) source: LineSource,
    pub(crate) boot_ns: u64,
    /// Which election; a process that was killed may not say.
    pub(crate) election: Option<ElectionName>,
    pub(crate) candidate: CandidateId,
    /// Tells two processes with the same candidate id apart, where it is told.
    pub(crate) pid: Option<u32>,
    pub(crate) what: HistoryEventKind,
}

#[derive(Debug, Clone)]
pub(crate) enum HistoryEventKind {
    Elected {
        term: u64,
        trusted_until: Option<u64>,
    },
    Renewed {
        term: u64,
        trusted_until: u64,
    },
    Lost {
        term: u64,
        reason: String,
        trusted_until: Option<u64>,
    },
    Stopped,
    /// Somebody else says that the process cannot act any more.
    Killed,
    /// It says something that concerns nobody's leadership.
    Other,
}

/// A resource says that it took a write.
#[derive(Debug, Clone)]
pub(crate) struct Accepted {
    pub(crate) source: LineSource,
    pub(crate) boot_ns: u64,
    pub(crate) resource: String,
    pub(crate) term: u64,
}

/// What a line turned out to be.
#[derive(Debug)]
pub(crate) enum Parsed {
    Event(HistoryEvent),
    Accepted(Accepted),
    /// An object, but no event that matters here.
    Unknown,
    /// Not even meant as an event: a log line, or what a command printed.
    Text,
}

/// Reads a line. Only what begins like an object is taken for an event: `tenure run` shares its standard error with the
/// command and with messages for people.
pub(crate) fn parse(source: LineSource, line: &[u8]) -> Result<Parsed, MalformedLine> {
    if !line.trim_ascii_start().starts_with(b"{") {
        return Ok(Parsed::Text);
    }
    read(&source, line).map_err(|problem| MalformedLine { line: source, problem })
}

#[derive(Deserialize)]
struct NamedEvent {
    event: Option<String>,
}

#[derive(Deserialize)]
struct EventFields {
    boot_ns: u64,
    election: Option<String>,
    candidate: Option<String>,
    pid: Option<u32>,
    term: Option<NonZeroU64>,
    reason: Option<String>,
    trusted_until_boot_ns: Option<u64>,
    resource: Option<String>,
}

fn read(source: &LineSource, line: &[u8]) -> Result<Parsed, String> {
    let says = |error: serde_json::Error| error.to_string();
    let NamedEvent { event: Some(name) } = serde_json::from_slice(line).map_err(says)? else {
        return Ok(Parsed::Unknown);
    };
    // What a person would have been told in words.
    if name == "log" || name == "note" {
        return Ok(Parsed::Text);
    }
    let known = ["elected", "renewed", "lost", "stopped", "killed", "observed", "error", "recovered", "accepted"];
    if !known.contains(&name.as_str()) {
        return Ok(Parsed::Unknown);
    }
    let fields: EventFields = serde_json::from_slice(line).map_err(says)?;
    if name == "accepted" {
        return Ok(Parsed::Accepted(Accepted {
            source: source.clone(),
            boot_ns: fields.boot_ns,
            term: fields.term()?,
            resource: printable(&fields.resource.ok_or("an accepted write needs a resource")?),
        }));
    }
    let what = fields.what(&name)?;
    if fields.election.is_none() && !matches!(what, HistoryEventKind::Killed) {
        return Err(format!("the event {name} needs an election"));
    }
    let candidate = fields.candidate.ok_or_else(|| format!("the event {name} needs a candidate"))?;
    Ok(Parsed::Event(HistoryEvent {
        source: source.clone(),
        boot_ns: fields.boot_ns,
        election: fields.election.map(ElectionName::new).transpose().map_err(|error| error.to_string())?,
        candidate: CandidateId::new(candidate).map_err(|error| error.to_string())?,
        pid: fields.pid,
        what,
    }))
}

impl EventFields {
    fn what(&self, name: &str) -> Result<HistoryEventKind, String> {
        let trusted_until = self.trusted_until_boot_ns;
        Ok(match name {
            "elected" => HistoryEventKind::Elected { term: self.term()?, trusted_until },
            "renewed" => HistoryEventKind::Renewed {
                term: self.term()?,
                trusted_until: trusted_until.ok_or("a renewal needs trusted_until_boot_ns")?,
            },
            "lost" => HistoryEventKind::Lost {
                term: self.term()?,
                reason: self.reason.as_deref().map_or_else(|| "unknown".to_owned(), printable),
                trusted_until,
            },
            "stopped" => HistoryEventKind::Stopped,
            "killed" => HistoryEventKind::Killed,
            _ => HistoryEventKind::Other,
        })
    }

    fn term(&self) -> Result<u64, String> {
        self.term.map(NonZeroU64::get).ok_or_else(|| "a term is missing".to_owned())
    }
}

/// Free text of a stranger, safe to print: nothing in it moves a cursor.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Parsed, String> {
        super::parse(LineSource { file: Arc::from("a"), line: 7 }, line.as_bytes())
            .map_err(|malformed| malformed.problem)
    }

    #[test]
    fn reads_what_elect_prints() {
        let line = r#"{"event":"lost","election":"demo","candidate":"b","pid":12,"term":2,"reason":"expired",
            "at":"2026-01-01T00:00:00Z","boot_ns":9,"trusted_until_boot_ns":8}"#;
        let Ok(Parsed::Event(event)) = parse(line) else { panic!("not an event") };
        assert_eq!((event.candidate.as_str(), event.pid, event.boot_ns), ("b", Some(12), 9));
        assert!(
            matches!(event.what, HistoryEventKind::Lost { term: 2, reason, trusted_until: Some(8) } if reason == "expired")
        );
    }

    #[test]
    fn what_is_no_event_is_passed_over() {
        for text in ["", "tenure: leading demo, term 1", "[1]", "\u{1b}[0m", r#"{"event":"log","message":"WARN x"}"#] {
            assert!(matches!(parse(text), Ok(Parsed::Text)), "{text:?}");
        }
        for unknown in [r#"{"event":"moved","term":"x"}"#, r#"{"level":"INFO"}"#, "{}", r#" {"event":null}"#] {
            assert!(matches!(parse(unknown), Ok(Parsed::Unknown)), "{unknown:?}");
        }
    }

    #[test]
    fn an_event_that_lacks_something_is_malformed() {
        for (line, problem) in [
            (r#"{"event":"elected","elec"#, "EOF"),
            (r#"{"event":7}"#, "invalid type"),
            (r#"{"event":"stopped","election":"e","candidate":"a"}"#, "boot_ns"),
            (r#"{"event":"elected","election":"e","candidate":"a","boot_ns":1}"#, "term"),
            (r#"{"event":"elected","election":"e","candidate":"a","boot_ns":1,"term":0}"#, "nonzero"),
            (r#"{"event":"elected","candidate":"a","boot_ns":1,"term":1}"#, "election"),
            (r#"{"event":"stopped","election":"e","boot_ns":1}"#, "candidate"),
            (r#"{"event":"renewed","election":"e","candidate":"a","boot_ns":1,"term":1}"#, "trusted_until"),
            (r#"{"event":"killed","candidate":"a\u001b[2J","boot_ns":1}"#, "control character"),
            (r#"{"event":"accepted","term":1,"boot_ns":1}"#, "resource"),
        ] {
            let told = parse(line).map(|parsed| format!("{parsed:?}")).unwrap_err();
            assert!(told.contains(problem), "{line}: {told}");
        }
    }

    #[test]
    fn free_text_cannot_move_the_cursor() {
        assert_eq!(printable("a\u{1b}[2J\n"), "a\u{fffd}[2J\u{fffd}");
    }
}
