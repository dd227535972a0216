//! A supervisor with its guard, and a way for commands to talk to the test.

use std::fs::File;
use std::future::Future;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;
use tenure_cli::supervise::{CommandSpec, GuardReport, Supervisor, TrustDeadlines, clock};
use tenure_core::Instant;
use tenure_testkit::process::ProcessHandle;
use tokio::net::unix::pipe;

/// The commands of a test can write words into the file `$WORDS`, and can read a line from `$GO` to wait for the test.
pub(crate) struct GuardBench {
    pub(crate) supervisor: Supervisor,
    pub(crate) words: Words,
    go: File,
    directory: TempDir,
}

impl GuardBench {
    pub(crate) fn new() -> Self {
        Self::with_life_line(None)
    }

    pub(crate) fn with_life_line(life_line: Option<OwnedFd>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let words = Words::at(&directory.path().join("words"));
        let go = make_fifo(&directory.path().join("go"));
        let supervisor = Supervisor::launch(guard_program(), rustix::stdio::stdin(), life_line, &[]).unwrap();
        Self { supervisor, words, go, directory }
    }

    /// A shell script as work, trusted for as long as a test takes.
    pub(crate) fn script(&self, script: &str) -> CommandSpec {
        CommandSpec {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
            env_set: vec![("WORDS".into(), self.path("words").into()), ("GO".into(), self.path("go").into())],
            env_remove: Vec::new(),
            directory: None,
            grace: PATIENCE,
            trust: trust_for(10 * PATIENCE, 20 * PATIENCE),
        }
    }

    /// Starts a shell script and returns its process.
    pub(crate) async fn start(&mut self, script: &str) -> ProcessHandle {
        let work = self.script(script);
        self.start_work(&work).await
    }

    pub(crate) async fn start_work(&mut self, work: &CommandSpec) -> ProcessHandle {
        self.supervisor.start(work).unwrap();
        let report = self.report().await;
        let GuardReport::Started { pid } = report else { panic!("not started: {report:?}") };
        ProcessHandle::open(i32::try_from(pid).unwrap())
    }

    /// The next report, after those that the command is about to be started, and that what was killed takes a moment to be
    /// gone.
    pub(crate) async fn report(&mut self) -> GuardReport {
        loop {
            let report = within_patience(self.supervisor.next()).await;
            if !matches!(report, GuardReport::Starting | GuardReport::Held { dead: false, .. }) {
                return report;
            }
        }
    }

    /// Lets a command that reads from `$GO` go on.
    pub(crate) fn go(&mut self) {
        self.go.write_all(b"go\n").unwrap();
    }

    /// A script that makes a program of this C, for what no shell can do, and then does this.
    pub(crate) fn with_program(&self, name: &str, source: &str, script: &str) -> String {
        let (program, code) = (self.path(name), self.path(&format!("{name}.c")));
        std::fs::write(&code, source).unwrap();
        // Not by this process: it may have no children but guards.
        format!(
            "cc -o {program} {code} || exit 99; {name}={program}; {script}",
            program = program.display(),
            code = code.display()
        )
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// What the commands write, word by word.
pub(crate) struct Words {
    pipe: pipe::Receiver,
    unread: Vec<u8>,
}

impl Words {
    fn at(path: &Path) -> Self {
        make_fifo(path);
        // Open for writing too, so that it has no end when a writer leaves.
        let pipe = pipe::OpenOptions::new().read_write(true).open_receiver(path).unwrap();
        Self { pipe, unread: Vec::new() }
    }

    /// The next line.
    pub(crate) async fn next(&mut self) -> String {
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line = self.unread.drain(..=end).take(end).collect();
                return String::from_utf8(line).unwrap();
            }
            within_patience(self.pipe.readable()).await.unwrap();
            self.fill();
        }
    }

    /// The process whose id is the next line.
    pub(crate) async fn next_process(&mut self) -> ProcessHandle {
        ProcessHandle::open(self.next().await.parse().unwrap())
    }

    pub(crate) fn are_all_read(&mut self) -> bool {
        self.fill();
        self.unread.is_empty()
    }

    fn fill(&mut self) {
        let mut buffer = [0; 1024];
        if let Ok(length) = self.pipe.try_read(&mut buffer) {
            self.unread.extend_from_slice(&buffer[..length]);
        }
    }
}

fn make_fifo(path: &Path) -> File {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    File::options().read(true).write(true).open(path).unwrap()
}

/// Whether there is something to read, or the end of it, within the given time.
pub(crate) fn is_readable(descriptor: &OwnedFd, timeout: Duration) -> bool {
    let timeout = Timespec::try_from(timeout).unwrap();
    poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&timeout)).unwrap() > 0
}

/// Trust that asks the command to end after `stop` and ends it after `kill`, counted from now.
pub(crate) fn trust_for(stop: Duration, kill: Duration) -> TrustDeadlines {
    TrustDeadlines { stop_at: after(stop), kill_at: after(kill) }
}

pub(crate) fn after(duration: Duration) -> Instant {
    clock::now() + duration
}

pub(crate) fn guard_program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tenure"))
}

pub(crate) async fn within_patience<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("it took too long")
}

/// How long to wait for what should happen at once, on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
