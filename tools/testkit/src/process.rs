//! Processes, whoever started them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, pidfd_open, pidfd_send_signal, prlimit};

use crate::{PATIENCE, eventually};

/// A process, told from any later one with the same id.
pub struct ProcessHandle {
    /// Its id.
    pub pid: Pid,
    /// Readable when it has ended; none if it was gone before it could be opened.
    handle: Option<OwnedFd>,
}

impl ProcessHandle {
    /// Takes hold of it; one that is gone already is dead.
    #[must_use]
    pub fn open(pid: i32) -> Self {
        let pid = Pid::from_raw(pid).unwrap();
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Self { pid, handle: Some(handle) },
            Err(Errno::SRCH) => Self { pid, handle: None },
            Err(error) => panic!("cannot open process {pid:?}: {error}"),
        }
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    /// Waits for its end, but not longer than this.
    #[must_use]
    pub fn ends_within(&self, limit: Duration) -> bool {
        let Some(handle) = &self.handle else { return true };
        let limit = Timespec::try_from(limit).unwrap();
        poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&limit)).unwrap() > 0
    }

    /// Waits for its end, which must come.
    pub fn await_end(&self, what: &str) {
        assert!(self.ends_within(PATIENCE), "waited for the end of {what}, process {:?}", self.pid);
    }

    /// Sends a signal, unless the process is gone. One that stops it has taken effect when this returns.
    pub fn signal(&self, signal: Signal) {
        signal_all([self], signal);
    }

    fn send(&self, signal: Signal) {
        if let Some(handle) = &self.handle {
            // An error means that it has ended, as tests expect of some.
            let _ = pidfd_send_signal(handle, signal);
        }
    }

    /// The one process that it started.
    #[must_use]
    pub fn only_child(&self) -> ProcessHandle {
        let [child] = <[ProcessHandle; 1]>::try_from(self.children())
            .unwrap_or_else(|children| panic!("not one child, but {}", children.len()));
        child
    }

    /// The processes that it started, and that it has not yet seen ending.
    #[must_use]
    pub fn children(&self) -> Vec<ProcessHandle> {
        let children_of = |task: PathBuf| std::fs::read_to_string(task.join("children")).unwrap_or_default();
        let children: String = self.threads().into_iter().map(children_of).collect();
        children.split_whitespace().map(|pid| ProcessHandle::open(pid.parse().unwrap())).collect()
    }

    /// Where the kernel tells of its threads.
    #[must_use]
    pub fn threads(&self) -> Vec<PathBuf> {
        // One that ends meanwhile has none.
        std::fs::read_dir(self.folder().join("task"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|thread| thread.path())
            .collect()
    }

    /// The process that started it, while that lives.
    #[must_use]
    pub fn parent(&self) -> ProcessHandle {
        let status = std::fs::read_to_string(self.folder().join("status")).unwrap();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
        ProcessHandle::open(parent.trim().parse().unwrap())
    }

    /// Lets it open no file beyond this number, and keep those it has.
    pub fn limit_files(&self, count: u64) {
        let limit = Rlimit { current: Some(count), maximum: Some(count) };
        prlimit(Some(self.pid), Resource::Nofile, limit).unwrap();
    }

    /// Lets it stand still until what is returned is dropped. It stands still when this returns.
    pub fn pause(&self) -> Paused {
        let paused = Paused(self.clone());
        self.signal(Signal::STOP);
        paused
    }

    /// A thread that is stopped goes on until it is scheduled again, and may send a request before.
    fn await_standstill(&self) {
        let stands = |thread: &PathBuf| statistics(thread).is_none_or(|fields| fields[0] == "T");
        eventually("a process that stands still", || self.is_dead() || self.threads().iter().all(stands));
    }

    /// The processor time that it has used so far, in steps of the kernel's clock, which are some milliseconds.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        let fields = statistics(&self.folder()).unwrap();
        let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        Duration::from_secs(ticks) / u32::try_from(clock_ticks_per_second()).unwrap()
    }

    /// The memory that it occupies now.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        let pages = std::fs::read_to_string(self.folder().join("statm")).unwrap();
        pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * u64::try_from(page_size()).unwrap()
    }

    fn folder(&self) -> PathBuf {
        format!("/proc/{}", self.pid.as_raw_nonzero()).into()
    }
}

impl Clone for ProcessHandle {
    /// Another hold on the same process.
    fn clone(&self) -> Self {
        Self { pid: self.pid, handle: self.handle.as_ref().map(|handle| handle.try_clone().unwrap()) }
    }
}

/// A process that stands still until this is dropped.
#[must_use = "it goes on at once if nobody keeps this"]
pub struct Paused(ProcessHandle);

impl Drop for Paused {
    fn drop(&mut self) {
        self.0.signal(Signal::CONT);
    }
}

/// A process that a test has stopped or means to kill. It does not outlive the test.
pub struct Victim(
    /// The process.
    pub ProcessHandle,
);

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.signal(Signal::KILL);
    }
}

/// Sends a signal to each of these, one right after the other. One that stops them has taken effect when this returns.
pub fn signal_all<const N: usize>(processes: [&ProcessHandle; N], signal: Signal) {
    processes.iter().for_each(|process| process.send(signal));
    if signal == Signal::STOP {
        processes.iter().for_each(|process| process.await_standstill());
    }
}

/// What the kernel says of a process or thread after its name, beginning with its state; none if it is gone.
fn statistics(folder: &Path) -> Option<Vec<String>> {
    let line = std::fs::read_to_string(folder.join("stat")).ok()?;
    // The name may contain anything, so what follows its last parenthesis counts.
    let (_, fields) = line.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}
