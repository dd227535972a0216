//! Lines that another process prints.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::PATIENCE;

/// What another process prints, line by line. It is always read, so that the process never waits for us.
pub struct Lines {
    receiver: Receiver<String>,
    record: PrintedLines,
}

/// All lines that have come so far, whether anybody looked at them or not. Outlives the process and its reader.
#[derive(Debug, Clone, Default)]
pub struct PrintedLines(Arc<Mutex<Vec<String>>>);

impl PrintedLines {
    /// The lines.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Adds what the process itself cannot say.
    pub(crate) fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl Lines {
    /// Begins to read.
    pub fn of(output: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        let record = PrintedLines::default();
        let lines = Self { receiver, record: record.clone() };
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut bytes = Vec::new();
            while matches!(output.read_until(b'\n', &mut bytes), Ok(length) if length > 0) {
                let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
                record.0.lock().unwrap().push(line.clone());
                if sender.send(line).is_err() {
                    return;
                }
                bytes.clear();
            }
        });
        lines
    }

    /// What has come, and what is still to come.
    #[must_use]
    pub fn record(&self) -> PrintedLines {
        self.record.clone()
    }

    /// The next line.
    pub fn next(&self, what: &str) -> String {
        self.find(what, |line| Some(line.to_owned()))
    }

    /// The first thing found in the lines to come.
    pub fn find<T>(&self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(found) = find(&line) {
                        return found;
                    }
                }
                Err(error) => panic!("waited for {what}: {error}; seen {:#?}", self.record.lines()),
            }
        }
    }

    /// All that comes until the writer closes its end.
    #[must_use]
    pub fn rest(&self, what: &str) -> Vec<String> {
        let deadline = Instant::now() + PATIENCE;
        let mut rest = Vec::new();
        loop {
            match self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => rest.push(line),
                Err(RecvTimeoutError::Disconnected) => return rest,
                Err(RecvTimeoutError::Timeout) => panic!("waited for the end of {what}; seen {rest:#?}"),
            }
        }
    }
}
