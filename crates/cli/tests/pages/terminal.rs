//! A shell that is typed into.

use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};

use rustix::process::Signal;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::running::RunningProcess;

/// A shell that is typed into.
pub(crate) struct Terminal {
    shell: RunningProcess,
    keyboard: ChildStdin,
}

impl Terminal {
    /// One that begins with this command.
    pub(crate) fn open(mut shell: Command) -> Self {
        let mut shell = RunningProcess::start(shell.stdin(Stdio::piped()));
        let keyboard = shell.child().stdin.take().unwrap();
        Self { shell, keyboard }
    }

    /// Types this.
    pub(crate) fn enter(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Types lines whose commands end by themselves, the last one with this code, and returns what they print.
    pub(crate) fn ends_with(&mut self, code: i32, lines: &str) -> String {
        self.enter(&format!("{}\necho \"{ENDED}$?\"\n", lines.trim_end()));
        let mut printed = String::new();
        loop {
            let line = self.shell.stdout().next(lines);
            if let Some(ended) = line.strip_prefix(ENDED) {
                assert_eq!(ended, code.to_string(), "{lines}: {printed}");
                return printed;
            }
            printed += &(line + "\n");
        }
    }

    /// The same, with success.
    pub(crate) fn does(&mut self, lines: &str) -> String {
        self.ends_with(0, lines)
    }

    /// Types a line whose command goes on, waits until `tenure` says this of itself, and interrupts it.
    pub(crate) fn goes_on(&mut self, line: &str, words: &str) {
        self.enter(&format!("{line}\n"));
        self.tells(words);
        self.control_c();
    }

    /// Whether a command has printed this.
    pub(crate) fn has_shown(&self, words: &str) -> bool {
        self.shell.stdout().record().lines().iter().any(|line| line.contains(words))
    }

    /// Waits until a command prints this.
    pub(crate) fn shows(&self, words: &str) {
        self.shell.stdout().find(words, |line| line.contains(words).then_some(()));
    }

    /// Waits until `tenure` says this of itself.
    pub(crate) fn tells(&self, words: &str) {
        self.shell.stderr().find(words, |line| line.contains(words).then_some(()));
    }

    fn jobs(&mut self) -> Vec<ProcessHandle> {
        ProcessHandle::open(i32::try_from(self.shell.child().id()).unwrap()).children()
    }

    /// Ends what runs in the foreground.
    pub(crate) fn control_c(&mut self) {
        for job in self.jobs() {
            job.signal(Signal::INT);
            job.await_end("the command in the foreground");
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.jobs().iter().for_each(|job| job.signal(Signal::TERM));
    }
}

/// What the shell prints between a command and the next one.
const ENDED: &str = "ended with ";
