//! The processes of one server: the one that listens, and those that it starts for connections and chores.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::PATIENCE;
use crate::process::{Paused, ProcessHandle};

/// All processes of a server, which stand still until this is dropped.
#[must_use = "they go on at once if nobody keeps this"]
pub struct PausedServer {
    processes: Vec<Paused>,
    guard: Child,
}

impl PausedServer {
    /// The first process goes first: then it starts no further ones, and sees none of them end.
    pub(super) fn new(first: &ProcessHandle) -> Self {
        let first_paused = first.pause();
        let others = first.children();
        let guard = guard([first].into_iter().chain(&others));
        let processes = [first_paused].into_iter().chain(others.iter().map(ProcessHandle::pause)).collect();
        Self { processes, guard }
    }
}

impl Drop for PausedServer {
    fn drop(&mut self) {
        self.processes.clear();
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }
}

/// A process that lets these go on when this one is gone, so that they can end as well. It is in a group of its own, since
/// what ends a test may be sent to all of its group.
fn guard<'a>(processes: impl Iterator<Item = &'a ProcessHandle>) -> Child {
    let mut guard = Command::new("sh");
    guard.args(["-c", "read -r _; kill -CONT \"$@\"", "guard"]);
    guard.args(processes.map(|process| process.pid.as_raw_nonzero().to_string()));
    guard.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Ends all of them as they end when this process is gone. The first one sees all others end, and gives its memory back.
pub(super) fn end_all(first: &ProcessHandle) {
    if first.is_dead() {
        return;
    }
    let others = first.children();
    // Whoever stands still could not end.
    others.iter().chain([first]).for_each(|process| process.signal(Signal::CONT));
    first.signal(Signal::QUIT);
    if !first.ends_within(PATIENCE) {
        kill_all(first);
    }
}

/// Ends all of them at once, without a chance to write anything.
pub(super) fn kill_all(first: &ProcessHandle) {
    if first.is_dead() {
        return;
    }
    // None of them shall be able to start another.
    let _paused = first.pause();
    let all: Vec<ProcessHandle> = first.children().into_iter().chain([first.clone()]).collect();
    all.iter().for_each(|process| process.signal(Signal::KILL));
    // A server does not start on data that a process of its predecessor still has in memory.
    all.iter().for_each(|process| process.await_end("a process of a server"));
}
