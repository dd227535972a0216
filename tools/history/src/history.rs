//! All lines together.

use std::collections::BTreeSet;
use std::io::{self, BufRead};
use std::sync::Arc;

use crate::checks;
use crate::event::{Accepted, HistoryEvent, LineSource, MalformedLine, Parsed, parse};
use crate::life::lives;
use crate::verdict::{ElectionVerdict, HistoryVerdict, Limits};

/// Events of many processes of one machine, from one boot to the next. The order in which they are read does not matter,
/// except that the lines of one process must keep theirs.
#[derive(Debug, Default)]
pub struct History {
    events: Vec<HistoryEvent>,
    accepted: Vec<Accepted>,
    malformed: Vec<MalformedLine>,
    unknown_events: usize,
    other_lines: usize,
}

impl History {
    /// Reads lines that come from nowhere in particular; they are cited as `line:1` and so on.
    pub fn parse<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Self {
        let mut history = Self::default();
        let name = Arc::from("line");
        for (index, line) in lines.into_iter().enumerate() {
            history.take(LineSource { file: Arc::clone(&name), line: index + 1 }, line.as_ref().as_bytes());
        }
        history
    }

    /// Adds the lines of a file.
    ///
    /// # Errors
    /// When it cannot be read. A line that makes no sense is no error here; the verdict tells of it.
    pub fn read(&mut self, file: &str, mut input: impl BufRead) -> io::Result<()> {
        let name: Arc<str> = Arc::from(file);
        let mut line = Vec::new();
        let mut number = 0;
        while input.read_until(b'\n', &mut line)? > 0 {
            number += 1;
            self.take(LineSource { file: Arc::clone(&name), line: number }, &line);
            line.clear();
        }
        Ok(())
    }

    /// Judges each election by itself, and each resource.
    #[must_use]
    pub fn verdict(&self, limits: &Limits) -> HistoryVerdict {
        let names: BTreeSet<_> = self.events.iter().filter_map(|event| event.election.as_ref()).collect();
        let judge = |name| ElectionVerdict::new(name, &lives(name, &self.events), limits);
        HistoryVerdict {
            elections: names.into_iter().map(judge).filter(|verdict| verdict.candidates > 0).collect(),
            registers: checks::registers(&self.accepted),
            malformed: self.malformed.clone(),
            unknown_events: self.unknown_events,
            other_lines: self.other_lines,
        }
    }

    fn take(&mut self, source: LineSource, line: &[u8]) {
        match parse(source, line) {
            Ok(Parsed::Event(event)) => self.events.push(event),
            Ok(Parsed::Accepted(accepted)) => self.accepted.push(accepted),
            Ok(Parsed::Unknown) => self.unknown_events += 1,
            Ok(Parsed::Text) => self.other_lines += usize::from(!line.trim_ascii().is_empty()),
            Err(malformed) => self.malformed.push(malformed),
        }
    }
}
