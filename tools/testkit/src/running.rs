//! Processes that a test starts, and that end with it.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::Signal;

use crate::lines::Lines;
use crate::process::ProcessHandle;

/// A process of a test, and what it prints unless the command said where to.
pub struct RunningProcess {
    child: Child,
    /// The process itself.
    pub process: ProcessHandle,
    stdout: Option<Lines>,
    stderr: Option<Lines>,
}

/// How a process ended, and what it had printed.
#[derive(Debug)]
pub struct FinishedProcess {
    /// The code; none if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output, without the last line feed.
    pub stdout: String,
    /// Its standard error, without the last line feed.
    pub stderr: String,
}

impl RunningProcess {
    /// Starts it with its output read by the test.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        Self::start_printing(command.stdout(Stdio::piped()))
    }

    /// Starts it with its standard output where the command says.
    #[must_use]
    pub fn start_printing(command: &mut Command) -> Self {
        Self::start_logging(command, Stdio::piped())
    }

    /// Starts it with its standard error here, and its standard output where the command says.
    pub fn start_logging(command: &mut Command, stderr: impl Into<Stdio>) -> Self {
        Self::of(command.stderr(stderr).spawn().unwrap())
    }

    /// Takes over a child that has been started.
    #[must_use]
    pub fn of(mut child: Child) -> Self {
        let process = ProcessHandle::open(i32::try_from(child.id()).unwrap());
        let (stdout, stderr) = (child.stdout.take().map(Lines::of), child.stderr.take().map(Lines::of));
        Self { child, process, stdout, stderr }
    }

    /// What it prints on its standard output.
    #[must_use]
    pub fn stdout(&self) -> &Lines {
        self.stdout.as_ref().unwrap()
    }

    /// What it prints on its standard error.
    #[must_use]
    pub fn stderr(&self) -> &Lines {
        self.stderr.as_ref().unwrap()
    }

    /// Stops reading what it prints, as a reader does that ends.
    pub fn close_stdout(&mut self) {
        self.stdout = None;
    }

    /// As the standard library knows it.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends a signal, unless it is gone.
    pub fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Waits for its end.
    pub fn exit(&mut self) -> ExitStatus {
        self.process.await_end("tenure");
        self.child.wait().unwrap()
    }

    /// The code with which it ends by itself; a signal that ended it is a failure.
    pub fn code(&mut self) -> i32 {
        let status = self.exit();
        status.code().unwrap_or_else(|| panic!("it was ended by signal {:?}", status.signal()))
    }

    /// Waits for its end and for all that it prints.
    #[must_use]
    pub fn finish(mut self) -> FinishedProcess {
        let code = self.exit().code();
        let all = |lines: &Option<Lines>, what| lines.as_ref().map_or(Vec::new(), |lines| lines.rest(what)).join("\n");
        FinishedProcess {
            code,
            stdout: all(&self.stdout, "standard output"),
            stderr: all(&self.stderr, "standard error"),
        }
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, and is reaped all the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
