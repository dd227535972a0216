//! A `tenure run` or `tenure elect` and its events.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use super::{Lines, Running};

/// A candidate that reports its events as JSON lines: `run --json` on standard error, `elect` on standard output.
pub(crate) struct Candidate {
    pub(crate) running: Running,
    events_on_stdout: bool,
}

impl Candidate {
    /// A `tenure run`, whose command prints where the test said.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self { running: Running::start_printing(command), events_on_stdout: false }
    }

    /// A `tenure elect`.
    pub(crate) fn elect(command: &mut Command) -> Self {
        Self { running: Running::start(command), events_on_stdout: true }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    pub(crate) fn code(&mut self) -> i32 {
        self.running.code()
    }

    /// The next event of this kind; others are passed over.
    pub(crate) fn event(&self, kind: &str) -> Value {
        self.events().find(&format!("the event {kind:?}"), |line| parse(line).filter(|event| event["event"] == kind))
    }

    /// All events until the end.
    pub(crate) fn events_to_the_end(&self) -> Vec<Value> {
        self.events().rest("events").iter().filter_map(|line| parse(line)).collect()
    }

    fn events(&self) -> &Lines {
        if self.events_on_stdout { self.running.stdout() } else { self.running.stderr() }
    }
}

fn parse(line: &str) -> Option<Value> {
    line.starts_with('{').then(|| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
}
