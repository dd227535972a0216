//! A `tenure run` or `tenure elect` and its events.

use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::bound::boot_ns;
use crate::lines::{Lines, PrintedLines};
use crate::running::RunningProcess;

/// A candidate that reports its events as JSON lines: `run --json` on standard error, `elect` on standard output.
pub struct CandidateProcess {
    /// The process.
    pub running: RunningProcess,
    events_on_stdout: bool,
}

impl CandidateProcess {
    /// A `tenure run`, whose command prints where the test said.
    pub(crate) fn run(command: &mut Command) -> Self {
        Self { running: RunningProcess::start_printing(command), events_on_stdout: false }
    }

    /// A `tenure elect`.
    pub(crate) fn elect(command: &mut Command) -> Self {
        Self { running: RunningProcess::start(command), events_on_stdout: true }
    }

    /// Sends a signal to it, and not to its command.
    pub fn signal(&self, signal: Signal) {
        if signal == Signal::KILL {
            self.note_kill();
        }
        self.running.signal(signal);
    }

    /// The code with which it ends by itself.
    pub fn code(&mut self) -> i32 {
        self.running.code()
    }

    /// The next event of this kind; others are passed over.
    pub fn event(&self, kind: &str) -> Value {
        self.lines().find(&format!("the event {kind:?}"), |line| parse(line).filter(|event| event["event"] == kind))
    }

    /// Waits until it knows who leads.
    pub fn stands_by(&self) {
        drop(self.event("observed"));
    }

    /// All events until the end.
    #[must_use]
    pub fn events_to_the_end(&self) -> Vec<Value> {
        self.lines().rest("events").iter().filter_map(|line| parse(line)).collect()
    }

    /// All that it has told so far, read or not, and its log.
    #[must_use]
    pub fn told(&self) -> Vec<String> {
        self.record().lines()
    }

    pub(crate) fn record(&self) -> PrintedLines {
        self.lines().record()
    }

    /// Notes that it is being killed. A process that is killed cannot say so, and whoever judges its events needs the time
    /// from right before the signal.
    pub fn note_kill(&self) {
        let record = self.record();
        // Lines of the log say nothing of who wrote them.
        let of_candidate = |line: &String| parse(line).filter(|event| event["candidate"].is_string());
        if let Some(last) = record.lines().iter().rev().find_map(of_candidate) {
            let killed = json!({
                "event": "killed",
                "election": last["election"],
                "candidate": last["candidate"],
                "pid": last["pid"],
                "boot_ns": boot_ns(),
            });
            record.add(killed.to_string());
        }
    }

    fn lines(&self) -> &Lines {
        if self.events_on_stdout { self.running.stdout() } else { self.running.stderr() }
    }
}

/// The event in a line, which may also hold something else that was said.
pub(crate) fn parse(line: &str) -> Option<Value> {
    line.starts_with('{').then(|| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
}
