//! What is printed, for people and for programs.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::Serialize;
use tenure::store::{Observation, Transition};
use tenure::{CandidateId, Clock, ElectionError, Event, EventKind, Instant, Term};

use crate::duration::show;
use crate::exit::{CommandError, Exit};
use crate::job::{self, JobFields};
use crate::message::printable;
use crate::repeats::{RepeatedCause, Repeats, Spell, Telling};
use crate::supervise::CommandExit;

/// Turns the events of one candidacy into lines.
#[derive(Debug)]
pub struct EventLines {
    election: String,
    candidate: String,
    renewals: bool,
    /// The end of the newest trust; unknown when events were missed.
    trusted_until: Option<Instant>,
    repeats: Repeats,
}

/// What is to be told of an event.
struct Noted {
    /// What is over by it.
    over: Option<Spell>,
    /// What to tell if it is an error.
    telling: Telling,
}

impl EventLines {
    /// Renewals are no news to most readers, so they have to be asked for.
    #[must_use]
    pub fn new(election: &str, candidate: &CandidateId, renewals: bool) -> Self {
        let (election, candidate) = (election.to_owned(), candidate.to_string());
        Self { election, candidate, renewals, trusted_until: None, repeats: Repeats::default() }
    }

    /// Describes the next event: in no lines if it was not asked for or was just reported, in two if it ends a failure
    /// of the store. With each renewal, each failure is shown, too.
    pub fn lines<'a>(&'a mut self, event: &'a Event) -> Vec<EventLine<'a>> {
        let Noted { over, telling } = self.note(event);
        let spell = match telling {
            Telling::Not if !self.renewals => return Vec::new(),
            Telling::Still(spell) if !self.renewals => Some(spell),
            Telling::First | Telling::Still(_) | Telling::Not => None,
        };
        self.trust(event);
        let over = over.map(|over| EventLine { event: "recovered", ..self.empty(event).with(Some(over)) });
        over.into_iter().chain(self.line(event).map(|line| line.with(spell))).collect()
    }

    /// Describes the next event in sentences, as often: the failure that it ends, and the event itself. Renewals are
    /// not reported to people.
    pub fn sentences(&mut self, event: &Event) -> (Option<String>, Option<String>) {
        let Noted { over, telling } = self.note(event);
        let over = over.map(|over| format!("{}: {}", self.election, over.is_over()));
        let sentence = match &event.kind {
            EventKind::Error { error } => {
                telling.sentence(&error.to_string()).map(|told| format!("{}: {told}", self.election))
            }
            _ => sentence(&self.election, event),
        };
        (over, sentence)
    }

    fn note(&mut self, event: &Event) -> Noted {
        let nothing = Noted { over: None, telling: Telling::First };
        match &event.kind {
            EventKind::Error { error } => {
                let cause =
                    if matches!(error, ElectionError::Store(_)) { RepeatedCause::Store } else { RepeatedCause::Other };
                Noted { telling: self.repeats.failed(event.at, cause, &error.to_string()), ..nothing }
            }
            // Each of them is what the store has said.
            EventKind::Elected { .. } | EventKind::Renewed { .. } | EventKind::Observed { .. } => {
                Noted { over: self.repeats.answered(event.at), ..nothing }
            }
            _ => nothing,
        }
    }

    fn trust(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Elected { trust, .. } | EventKind::Renewed { trust, .. } => {
                self.trusted_until = Some(trust.until);
            }
            EventKind::Missed { .. } => self.trusted_until = None,
            _ => {}
        }
    }

    /// One event, whatever was told before; `None` for what was not asked for.
    fn line<'a>(&'a self, event: &'a Event) -> Option<EventLine<'a>> {
        let line = self.empty(event);
        Some(match &event.kind {
            EventKind::Elected { term, .. } => {
                EventLine { event: "elected", term: Some(term.get()), ..self.trusted(line) }
            }
            EventKind::Renewed { term, .. } if self.renewals => {
                EventLine { event: "renewed", term: Some(term.get()), ..self.trusted(line) }
            }
            EventKind::Lost { term, reason, .. } => EventLine {
                event: "lost",
                term: Some(term.get()),
                reason: Some(reason.as_str().to_owned()),
                ..self.trusted(line)
            },
            EventKind::Observed { leader } => EventLine {
                event: "observed",
                term: leader.as_ref().map(|leader| leader.term.get()),
                leader: leader.as_ref().map(|leader| leader.candidate.as_str()),
                ..line
            },
            EventKind::Error { error } => EventLine { event: "error", reason: Some(error.to_string()), ..line },
            EventKind::Stopped => EventLine { event: "stopped", ..line },
            EventKind::Job { job, tick, job_event } => {
                let (event, reason, fields) = JobFields::new(job, *tick, job_event)?;
                EventLine { event, reason, job: Some(fields), ..line }
            }
            EventKind::Missed { count } => EventLine {
                event: "error",
                reason: Some(format!("{count} events were not read in time and were dropped")),
                ..line
            },
            _ => return None,
        })
    }

    /// Describes the end of a command that exited by itself under this term.
    #[must_use]
    pub fn exited(&self, term: Term, end: &CommandEnd) -> EventLine<'_> {
        let (exit_code, signal) = match end.exit {
            CommandExit::Code(code) => (Some(code), None),
            CommandExit::Signal(signal) => (None, Some(signal)),
        };
        let restart_in_ms = end.restart_in.map(job::millis);
        let exit = ExitFields { exit_code, signal, took_ms: job::millis(end.took), restart_in_ms };
        let line = self.at(unix_ms(), Clock::boottime().now());
        EventLine { event: "exited", term: Some(term.get()), exit: Some(exit), ..line }
    }

    fn empty(&self, event: &Event) -> EventLine<'_> {
        self.at(since_epoch(event.time), event.at)
    }

    fn at(&self, at_unix_ms: u64, at: Instant) -> EventLine<'_> {
        EventLine {
            event: "",
            election: &self.election,
            candidate: &self.candidate,
            pid: std::process::id(),
            term: None,
            reason: None,
            at: timestamp(at_unix_ms),
            boot_ns: at.as_nanos(),
            leader: None,
            trusted_until_boot_ns: None,
            attempts: None,
            lasting_ms: None,
            job: None,
            exit: None,
        }
    }

    fn trusted<'a>(&self, line: EventLine<'a>) -> EventLine<'a> {
        EventLine { trusted_until_boot_ns: self.trusted_until.map(Instant::as_nanos), ..line }
    }
}

/// One event as a JSON line. The history checker (`tools/history`) reads it.
#[derive(Debug, Serialize)]
pub struct EventLine<'a> {
    event: &'a str,
    election: &'a str,
    candidate: &'a str,
    /// Tells two processes with the same candidate id apart.
    pid: u32,
    term: Option<u64>,
    reason: Option<String>,
    at: String,
    /// `CLOCK_BOOTTIME` of this machine: comparable between its processes, without any clock being right.
    boot_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<&'a str>,
    /// Of `elected`, `renewed` and `lost`: when leadership ends, or has ended, whatever the process is doing. One that
    /// was paused says only afterwards that it lost, and was no leader from here on.
    #[serde(skip_serializing_if = "Option::is_none")]
    trusted_until_boot_ns: Option<u64>,
    /// Of `recovered`, and of an `error` that was told before: how many attempts failed, and for how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lasting_ms: Option<u64>,
    /// Of `fired`, `ended`, `missed` and `skipped`.
    #[serde(flatten)]
    job: Option<JobFields>,
    /// Of `exited`.
    #[serde(flatten)]
    exit: Option<ExitFields>,
}

impl EventLine<'_> {
    fn with(self, spell: Option<Spell>) -> Self {
        let lasting_ms = spell.map(|spell| job::millis(spell.lasting));
        Self { attempts: spell.map(|spell| spell.attempts), lasting_ms, ..self }
    }
}

/// What an `exited` has besides what all events have.
#[derive(Debug, Serialize)]
struct ExitFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    took_ms: u64,
    /// Not before then is it started again, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    restart_in_ms: Option<u64>,
}

/// The end of a command that exited by itself.
#[derive(Debug, Clone, Copy)]
pub struct CommandEnd {
    /// Its exit code, or the signal.
    pub exit: CommandExit,
    /// The duration of the run.
    pub took: Duration,
    /// The pause before it is started again; `None` if it is not.
    pub restart_in: Option<Duration>,
}

impl CommandEnd {
    /// Describes it in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let how = match self.exit {
            CommandExit::Code(code) => format!("the command exited with code {code}"),
            CommandExit::Signal(signal) => format!("the command was killed by signal {signal}"),
        };
        let again = match self.restart_in {
            None => String::new(),
            Some(Duration::ZERO) => "; it starts again under the next term".to_owned(),
            Some(wait) => format!("; it starts again under the next term, in {} at the earliest", show(wait)),
        };
        format!("{how} after {}{again}", show(self.took))
    }
}

/// An event in one sentence; `None` for what people need not know.
fn sentence(election: &str, event: &Event) -> Option<String> {
    Some(match &event.kind {
        EventKind::Elected { term, .. } => format!("leading {election}, term {term}"),
        EventKind::Lost { term, reason, .. } => format!("lost {election}, term {term}: {}", reason.as_str()),
        EventKind::Observed { leader: Some(leader) } => {
            format!("standing by for {election}; {} leads, term {}", leader.candidate, leader.term)
        }
        EventKind::Observed { leader: None } => format!("standing by for {election}; nobody leads"),
        EventKind::Job { job, tick, job_event } => return job::sentence(job, *tick, job_event),
        _ => return None,
    })
}

/// An election as `tenure status --json` prints it.
#[derive(Debug, Serialize)]
pub struct StatusLine {
    /// The election.
    pub election: String,
    /// The leader, if there is one.
    pub leader: Option<String>,
    /// The term of the leader, or of the last one.
    pub term: Option<u64>,
    /// The time until the lease expires unless renewed.
    pub remaining_ms: Option<u64>,
    /// The start of the leadership.
    pub since: Option<String>,
    /// What the leader published.
    pub metadata: serde_json::Value,
    /// The candidate that the lease is reserved for, if any.
    pub reserved_for: Option<String>,
    /// Who stands by, the next one first.
    pub standing_by: Vec<String>,
    /// The number of messages waiting for the leader; unknown if the store keeps none.
    pub messages_waiting: Option<u64>,
    /// The number of dead letters. The JSON name is older than the word, and programs read it.
    #[serde(rename = "messages_aside")]
    pub dead_letters: Option<u64>,
    /// What is wrong with the record, if it is damaged: then fields that are `null` are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<String>,
}

impl StatusLine {
    /// Describes an observation, with the numbers of waiting messages and of dead letters, if known.
    #[must_use]
    pub fn new(election: &str, observed: &Observation, messages: Option<(u64, u64)>) -> Self {
        let lease = observed.lease.as_ref();
        Self {
            election: election.to_owned(),
            leader: lease.map(|lease| lease.leader.candidate.to_string()),
            term: lease.map_or(observed.last_term, |lease| lease.term).map(tenure::Term::get),
            remaining_ms: lease
                .and_then(|lease| lease.remaining)
                .map(|remaining| u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX)),
            since: lease.and_then(|lease| lease.leader.since_unix_ms).map(timestamp),
            metadata: lease.map_or_else(|| serde_json::json!({}), |lease| serde_json::json!(*lease.leader.metadata)),
            reserved_for: observed.reserved_for.as_ref().map(ToString::to_string),
            standing_by: observed.standing_by.iter().map(|stand_by| stand_by.candidate.to_string()).collect(),
            messages_waiting: messages.map(|(waiting, _)| waiting),
            dead_letters: messages.map(|(_, dead_letters)| dead_letters),
            damaged: None,
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

/// A time in milliseconds since the Unix epoch.
fn since_epoch(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds since the Unix epoch as RFC 3339 in UTC.
#[must_use]
pub fn timestamp(unix_ms: u64) -> String {
    let millis = i64::try_from(unix_ms).unwrap_or(i64::MAX);
    // With all three digits, so that the order of the texts is the order of the times.
    format!("{:.3}", Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX))
}

/// Formats whole seconds since the epoch, without the fraction that is always zero.
#[must_use]
pub fn timestamp_in_seconds(unix_s: u64) -> String {
    let seconds = i64::try_from(unix_s).unwrap_or(i64::MAX);
    format!("{:.0}", Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX))
}

/// The wall clock as RFC 3339 in UTC, for people.
#[must_use]
pub fn now() -> String {
    timestamp(unix_ms())
}

fn unix_ms() -> u64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

/// Prints to standard output. A reader that has gone away, as in `tenure status | head`, is no failure.
///
/// # Errors
/// When it cannot be written to, because the disk is full, say.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    is_read(write(&mut stdout).and_then(|()| stdout.flush())).map(drop)
}

/// Whether standard output still has a reader, judging by the last write.
///
/// # Errors
/// When it cannot be written to for another reason.
pub fn is_read(written: io::Result<()>) -> Result<bool, CommandError> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CommandError::new(Exit::OutputFailed, format!("cannot write to standard output: {error}"))),
    }
}

/// Prints a value as one JSON line.
///
/// # Errors
/// When the reader has gone away.
pub fn json_line(to: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Prints rows under their headings, aligned. What others wrote into the store may hold anything, so control characters,
/// which could move the cursor, are escaped.
///
/// # Errors
/// When the reader has gone away.
pub fn table(to: &mut dyn Write, headings: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
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
    for row in &rows {
        writeln!(to, "{}", line(&mut row.iter().map(String::as_str)))?;
    }
    to.flush()
}

#[cfg(test)]
mod tests {
    use tenure::store::StoreErrorKind;
    use tenure::{LossReason, StoreError, Trust};

    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn term() -> Term {
        Term::new(7).unwrap()
    }

    fn trust(until: u64) -> Trust {
        Trust::ending_at(at(until))
    }

    /// What is printed of these, one after the other.
    fn printed(renewals: bool, kinds: impl IntoIterator<Item = EventKind>) -> Vec<(String, Option<u64>)> {
        let mut lines = EventLines::new("nightly", &CandidateId::new("a").unwrap(), renewals);
        let mut print = |kind| {
            let event = Event::new(at(1), SystemTime::UNIX_EPOCH, kind);
            let told = lines.lines(&event).pop();
            told.map(|line| (line.event.to_owned(), line.trusted_until_boot_ns))
        };
        kinds.into_iter().filter_map(&mut print).collect()
    }

    #[test]
    fn nothing_in_a_table_moves_the_cursor() {
        let mut printed = Vec::new();
        let rows = [vec!["a\u{1b}[2J".to_owned(), "b\u{9b}1A\r\n".to_owned()]];
        table(&mut printed, &["REASON", "WHO"], &rows).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        assert_eq!(printed.lines().count(), 2, "{printed:?}");
        assert!(!printed.chars().any(|c| c.is_control() && c != '\n'), "{printed:?}");
    }

    #[test]
    fn timestamps_sort_as_the_times_do() {
        let times = [1_000, 1_001, 1_010, 1_100, 2_000, 61_000];
        let texts = times.map(timestamp);
        assert!(texts.is_sorted(), "{texts:?}");
        assert_eq!(texts[0], "1970-01-01T00:00:01.000Z");
    }

    /// The term is made up, and the leadership is not.
    fn elected(seconds: u64) -> EventKind {
        let client = tenure::blocking::Client::open("memory:").unwrap();
        let candidacy = client.election("nightly").unwrap().candidate().start().unwrap();
        EventKind::Elected { term: term(), trust: trust(seconds), leadership: candidacy.elected().unwrap() }
    }

    #[test]
    fn a_loss_tells_the_newest_trust_even_if_renewals_are_not_printed() {
        let kinds = || {
            [
                elected(10),
                EventKind::Renewed { term: term(), trust: trust(20) },
                EventKind::Lost { term: term(), reason: LossReason::Expired, kill_at: at(15) },
            ]
        };
        let line = |event: &str, until| (event.to_owned(), Some(until));
        assert_eq!(printed(false, kinds()), [line("elected", 10), line("lost", 20)]);
        assert_eq!(printed(true, kinds()), [line("elected", 10), line("renewed", 20), line("lost", 20)]);
    }

    #[test]
    fn an_error_is_told_once_and_then_that_it_is_over() {
        let error = || EventKind::Error {
            error: ElectionError::Store(StoreError::not_sent(StoreErrorKind::Unavailable, "refused")),
        };
        let kinds = || [error(), error(), error(), elected(10), error(), error()];
        let lines = |renewals| {
            let mut lines = EventLines::new("nightly", &CandidateId::new("a").unwrap(), renewals);
            let told = |kind| {
                let event = Event::new(at(1), SystemTime::UNIX_EPOCH, kind);
                lines.lines(&event).iter().map(|line| (line.event.to_owned(), line.attempts)).collect::<Vec<_>>()
            };
            kinds().into_iter().flat_map(told).collect::<Vec<_>>()
        };
        let line = |event: &str, attempts| (event.to_owned(), attempts);
        assert_eq!(lines(false), [line("error", None), line("recovered", Some(3)), line("elected", None)]);
        let each = |count| vec![line("error", None); count];
        let over = vec![line("recovered", Some(3)), line("elected", None)];
        assert_eq!(lines(true), [each(3), over, each(2)].concat(), "whoever wants each renewal wants each failure");
        let mut told = EventLines::new("nightly", &CandidateId::new("a").unwrap(), false);
        let sentences = kinds().map(|kind| told.sentences(&Event::new(at(1), SystemTime::UNIX_EPOCH, kind)));
        assert_eq!(sentences[0], (None, Some("nightly: refused".to_owned())));
        assert_eq!(sentences[1], (None, None));
        let over = "nightly: the store answers again, after 3 failed attempts in 0ms".to_owned();
        assert_eq!(sentences[3], (Some(over), Some("leading nightly, term 7".to_owned())));
    }

    #[test]
    fn trust_that_may_have_been_missed_is_not_told() {
        let told = printed(
            false,
            [
                elected(10),
                EventKind::Missed { count: 3 },
                EventKind::Lost { term: term(), reason: LossReason::Expired, kill_at: at(15) },
            ],
        );
        assert_eq!(told.last(), Some(&("lost".to_owned(), None)));
    }
}
