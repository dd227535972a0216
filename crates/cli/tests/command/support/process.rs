//! Processes: ours, which end with the test, and theirs, which are only looked at.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{Lines, PATIENCE};

/// A process, told from any later one with the same id.
pub(crate) struct Process {
    pub(crate) pid: Pid,
    /// Readable when it has ended; none if it was gone before it could be opened.
    handle: Option<OwnedFd>,
}

impl Process {
    pub(crate) fn open(pid: i32) -> Self {
        let pid = Pid::from_raw(pid).unwrap();
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Self { pid, handle: Some(handle) },
            Err(Errno::SRCH) => Self { pid, handle: None },
            Err(error) => panic!("cannot open process {pid:?}: {error}"),
        }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    pub(crate) fn ends_within(&self, limit: Duration) -> bool {
        let Some(handle) = &self.handle else { return true };
        let limit = Timespec::try_from(limit).unwrap();
        poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&limit)).unwrap() > 0
    }

    pub(crate) fn await_end(&self, what: &str) {
        assert!(self.ends_within(PATIENCE), "waited for the end of {what}, process {:?}", self.pid);
    }

    /// Sends a signal, unless the process is gone.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(handle) = &self.handle {
            // An error means that it has ended, as tests expect of some.
            let _ = pidfd_send_signal(handle, signal);
        }
    }

    /// The one process that it started.
    pub(crate) fn only_child(&self) -> Process {
        let tasks = format!("/proc/{}/task", self.pid.as_raw_nonzero());
        let children_of = |task: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default()
        };
        let children: String = std::fs::read_dir(tasks).unwrap().map(children_of).collect();
        Process::open(children.trim().parse().unwrap_or_else(|_| panic!("not one child: {children:?}")))
    }

    /// The process that started it, while that lives.
    pub(crate) fn parent(&self) -> Process {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid.as_raw_nonzero())).unwrap();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
        Process::open(parent.trim().parse().unwrap())
    }
}

/// A process that a test has stopped or means to kill. It does not outlive the test.
pub(crate) struct Victim(pub(crate) Process);

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.signal(Signal::KILL);
    }
}

/// A process of a test, and what it prints unless the command said where to.
pub(crate) struct Running {
    child: Child,
    pub(crate) process: Process,
    stdout: Option<Lines>,
    stderr: Option<Lines>,
}

/// How a process ended, and what it had printed.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Running {
    /// Starts it with its output read by the test.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_printing(command.stdout(Stdio::piped()))
    }

    /// Starts it with its standard output where the command says.
    pub(crate) fn start_printing(command: &mut Command) -> Self {
        Self::start_logging(command, Stdio::piped())
    }

    /// Starts it with its standard error here, and its standard output where the command says.
    pub(crate) fn start_logging(command: &mut Command, stderr: impl Into<Stdio>) -> Self {
        let mut child = command.stderr(stderr).spawn().unwrap();
        let process = Process::open(i32::try_from(child.id()).unwrap());
        let (stdout, stderr) = (child.stdout.take().map(Lines::of), child.stderr.take().map(Lines::of));
        Self { child, process, stdout, stderr }
    }

    pub(crate) fn stdout(&self) -> &Lines {
        self.stdout.as_ref().unwrap()
    }

    pub(crate) fn stderr(&self) -> &Lines {
        self.stderr.as_ref().unwrap()
    }

    /// Stops reading what it prints, as a reader does that ends.
    pub(crate) fn close_stdout(&mut self) {
        self.stdout = None;
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Waits for its end.
    pub(crate) fn exit(&mut self) -> ExitStatus {
        self.process.await_end("tenure");
        self.child.wait().unwrap()
    }

    /// The code with which it ends by itself; a signal that ended it is a failure.
    pub(crate) fn code(&mut self) -> i32 {
        let status = self.exit();
        status.code().unwrap_or_else(|| panic!("it was ended by signal {:?}", status.signal()))
    }

    /// Waits for its end and for all that it prints.
    pub(crate) fn finish(mut self) -> Finished {
        let code = self.exit().code();
        let all = |lines: &Option<Lines>, what| lines.as_ref().map_or(Vec::new(), |lines| lines.rest(what)).join("\n");
        Finished { code, stdout: all(&self.stdout, "standard output"), stderr: all(&self.stderr, "standard error") }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, and is reaped all the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
