//! What the work of jobs writes down when it begins and when it ends, in one file for all.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use tenure::cron::JobRun;

use crate::stamp::Stamp;

/// The beginning or the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JournalLine {
    pub(crate) side: Side,
    pub(crate) job: String,
    /// In seconds since the Unix epoch.
    pub(crate) tick: u64,
    pub(crate) term: u64,
    pub(crate) candidate: String,
    pub(crate) pid: u32,
    pub(crate) at: Stamp,
    /// Whether the run knew, right after that moment, that it had to stop.
    pub(crate) told: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Begin,
    End,
}

/// Where it is written.
#[derive(Debug, Clone)]
pub(crate) struct RunJournal(PathBuf);

impl RunJournal {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a line, and returns whether the run has to stop. The clock is read before the run is asked: whoever stood still
    /// in between shows an early moment, or knows.
    pub(crate) fn write(&self, side: Side, candidate: &str, run: &JobRun) -> bool {
        let at = Stamp::now();
        let told = run.is_cancelled();
        let line = JournalLine {
            side,
            job: run.job().to_string(),
            tick: run.tick().unix_s(),
            term: run.term().get(),
            candidate: candidate.to_owned(),
            pid: std::process::id(),
            at,
            told,
        };
        append(&self.0, &line.to_text());
        told
    }

    /// All lines so far. One that cannot be read is torn, and lines are written in one piece.
    pub(crate) fn read(&self) -> Vec<JournalLine> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines()
            .map(|line| JournalLine::parse(line).unwrap_or_else(|| panic!("a line in pieces: {line:?}")))
            .collect()
    }
}

impl JournalLine {
    fn to_text(&self) -> String {
        let Self { side, job, tick, term, candidate, pid, at, told } = self;
        let side = match side {
            Side::Begin => "begin",
            Side::End => "end",
        };
        format!("{side} {job} {tick} {term} {candidate} {pid} {} {} {told}\n", at.boot_ns, at.unix_ms)
    }

    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [side, job, tick, term, candidate, pid, boot_ns, unix_ms, told] = words[..] else { return None };
        Some(Self {
            side: match side {
                "begin" => Side::Begin,
                "end" => Side::End,
                _ => return None,
            },
            job: job.to_owned(),
            tick: tick.parse().ok()?,
            term: term.parse().ok()?,
            candidate: candidate.to_owned(),
            pid: pid.parse().ok()?,
            at: Stamp { boot_ns: boot_ns.parse().ok()?, unix_ms: unix_ms.parse().ok()? },
            told: told.parse().ok()?,
        })
    }
}

/// Adds a line to a file that many append to: in one write, which no other one can come between.
pub(crate) fn append(path: &Path, line: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}

#[test]
fn a_line_is_read_as_it_was_written() {
    let at = Stamp { boot_ns: 5, unix_ms: 6 };
    let candidate = "a-1".to_owned();
    let line =
        JournalLine { side: Side::Begin, job: "all".to_owned(), tick: 1, term: 2, candidate, pid: 4, at, told: true };
    assert_eq!(JournalLine::parse(line.to_text().trim_end()), Some(line));
    assert_eq!(JournalLine::parse("begin all 1 2 a-1 4 5 6"), None);
    assert_eq!(JournalLine::parse("middle all 1 2 a-1 4 5 6 true"), None);
}
