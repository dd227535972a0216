//! Lines that another process prints.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use super::PATIENCE;

/// What another process prints, line by line. It is always read, so that the process never waits for us.
pub(crate) struct Lines {
    receiver: Receiver<String>,
    /// Kept to be shown when what was waited for does not come.
    seen: RefCell<Vec<String>>,
}

impl Lines {
    pub(crate) fn of(output: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            while matches!(output.read_until(b'\n', &mut line), Ok(length) if length > 0) {
                if sender.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                    return;
                }
                line.clear();
            }
        });
        Self { receiver, seen: RefCell::new(Vec::new()) }
    }

    /// The next line.
    pub(crate) fn next(&self, what: &str) -> String {
        self.find(what, |line| Some(line.to_owned()))
    }

    /// The first thing found in the lines to come.
    pub(crate) fn find<T>(&self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.borrow_mut().push(line.clone());
                    if let Some(found) = find(&line) {
                        return found;
                    }
                }
                Err(error) => panic!("waited for {what}: {error}; seen {:#?}", self.seen.borrow()),
            }
        }
    }

    /// All that comes until the writer closes its end.
    pub(crate) fn rest(&self, what: &str) -> Vec<String> {
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
