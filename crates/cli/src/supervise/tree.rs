//! Finding, signalling and reaping the descendants of a process.
//!
//! Process groups and sessions are no cage: a daemon leaves both. What no process can leave is the line of its
//! ancestors, provided that the root of the tree is a child subreaper, to which the kernel hands every orphan below it.
//! So the tree is walked by parentage, through `/proc`, again and again until nothing is left: a walk is not atomic, and
//! whatever forks while it is being walked shows up in the next one.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::{fs, io, str};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, geteuid, getpid, kill_process, pidfd_open, pidfd_send_signal,
    test_kill_process, wait,
};

use super::message::CommandExit;

/// All descendants of one process, except for some and theirs.
#[derive(Clone, Debug)]
pub struct ProcessTree {
    root: Pid,
    spared: HashSet<Pid>,
}

impl ProcessTree {
    /// The descendants of `root`.
    #[must_use]
    pub fn below(root: Pid) -> Self {
        Self { root, spared: HashSet::new() }
    }

    /// The same, without these processes and without their descendants.
    #[must_use]
    pub fn sparing(self, spared: impl IntoIterator<Item = Pid>) -> Self {
        Self { spared: spared.into_iter().collect(), ..self }
    }

    /// The processes now in the tree, parents before children. Those that ended but were not reaped yet are included.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn members(&self) -> io::Result<Vec<Pid>> {
        let mut children = children_by_parent()?;
        let mut members = Vec::new();
        let mut parents = vec![self.root];
        // Every process has one parent in the snapshot and is taken out with it, so this ends even if a reused process
        // id made the snapshot circular.
        while let Some(parent) = parents.pop() {
            for child in children.remove(&parent).unwrap_or_default() {
                if child != self.root && !self.spared.contains(&child) {
                    members.push(child);
                    parents.push(child);
                }
            }
        }
        Ok(members)
    }

    /// The direct children of the root that are in the tree.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn children(&self) -> io::Result<Vec<Pid>> {
        let children = children_by_parent()?.remove(&self.root).unwrap_or_default();
        Ok(children.into_iter().filter(|child| !self.spared.contains(child)).collect())
    }

    /// Sends a signal once to everything now in the tree. What is forked meanwhile may be missed.
    ///
    /// # Errors
    /// When `/proc` cannot be read, or when a signal was refused; the rest of the tree has been signalled even so.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let mut outcome = Ok(());
        for pid in self.members()? {
            outcome = self.signal_member(pid, signal).and(outcome);
        }
        outcome
    }

    /// Sends SIGKILL until a walk finds nobody who has not had it. They may take a moment to be gone.
    ///
    /// # Errors
    /// As [`ProcessTree::signal`], or when the tree still grew after many rounds. Trying again later is right in either case.
    pub fn kill(&self) -> io::Result<()> {
        let mut killed = HashSet::new();
        let mut outcome = Ok(());
        for _ in 0..KILL_ROUNDS {
            let fresh: Vec<_> = self.members()?.into_iter().filter(|pid| !killed.contains(pid)).collect();
            if fresh.is_empty() {
                return outcome;
            }
            for pid in fresh {
                // One that may not be killed must not shield the others.
                outcome = self.signal_member(pid, Signal::KILL).and(outcome);
                killed.insert(pid);
            }
        }
        Err(io::Error::other("processes are started faster than they can be killed"))
    }

    /// Signals a process through a descriptor that cannot come to mean another one, having checked that it is ours.
    fn signal_member(&self, pid: Pid, signal: Signal) -> io::Result<()> {
        let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) => descriptor,
            Err(Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        // Between the walk and the opening the id may have passed to a stranger. From here on it cannot: if the process
        // that is open has ended, the signal goes nowhere.
        if !self.contains(pid) {
            return Ok(());
        }
        match pidfd_send_signal(&descriptor, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a process is in the tree, by following its parents up to the root.
    fn contains(&self, pid: Pid) -> bool {
        // A parent that dies while it is being followed breaks the line, and its children get a new one; hence a few
        // attempts. Whoever is missed nevertheless is found by the next walk.
        (0..LINE_ATTEMPTS).any(|_| {
            let line = std::iter::successors(Some(pid), |&pid| parent_of(pid)).take(MAX_DEPTH);
            let mut ancestors = line.take_while(|pid| !self.spared.contains(pid)).skip(1);
            ancestors.any(|ancestor| ancestor == self.root)
        })
    }
}

/// The direct children of this process, those included that ended but were not reaped yet. One that is just being handed
/// over may be missed.
///
/// It looks at nothing else, and is quick even where there are many processes. It also sees those that `/proc` hides.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn own_children() -> io::Result<Vec<Pid>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task")? {
        match fs::read_to_string(thread?.path().join("children")) {
            Ok(listed) => children.extend(listed.split_ascii_whitespace().filter_map(parse)),
            // A kernel may be built without it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return ProcessTree::below(getpid()).children(),
            Err(error) => return Err(error),
        }
    }
    Ok(children)
}

/// Kills the children of this process, again and again: when a process dies its children are handed to this one, so that
/// each round reaches one generation more, and a daemon that keeps replacing itself meets one of them in time.
///
/// `reap` reaps the children that are meant and says whether none of them is left; `spares` are not meant. Nobody else may
/// reap them, so that none of their ids can come to mean a stranger.
///
/// Returns whether none is left. If some are, they multiply very fast, or cannot be killed yet: try again later.
///
/// # Errors
/// When `/proc` cannot be read, or a child may not be killed.
pub fn hunt(spares: impl Fn(Pid) -> bool, mut reap: impl FnMut() -> bool) -> io::Result<bool> {
    let (mut outcome, mut killed, mut unchanged) = (Ok(()), Vec::new(), 0);
    for _ in 0..HUNT_ROUNDS {
        if reap() {
            return Ok(true);
        }
        let found: Vec<_> = own_children()?.into_iter().filter(|&child| !spares(child)).collect();
        for &child in &found {
            outcome = kill_process(child, Signal::KILL).or_else(gone).and(outcome);
        }
        unchanged = if found == killed { unchanged + 1 } else { 0 };
        if unchanged >= UNCHANGED_ROUNDS {
            break;
        }
        killed = found;
    }
    outcome?;
    Ok(reap())
}

fn gone(error: Errno) -> Result<(), Errno> {
    if error == Errno::SRCH { Ok(()) } else { Err(error) }
}

/// Reaps one ended child of this process, whichever it is.
///
/// Only for processes whose children are all their own concern: it would take the exit status from anyone else.
///
/// # Errors
/// When a child could not be waited for, for a reason other than that there is none.
pub fn reap() -> io::Result<Reaped> {
    match wait(WaitOptions::NOHANG) {
        Ok(Some((pid, status))) => Ok(Reaped::Child(pid, status)),
        Ok(None) => Ok(Reaped::AllAlive),
        Err(Errno::CHILD) => Ok(Reaped::NoneLeft),
        Err(error) => Err(error.into()),
    }
}

/// What [`reap`] found.
#[derive(Clone, Copy, Debug)]
pub enum Reaped {
    /// This child had ended, and is gone now.
    Child(Pid, WaitStatus),
    /// There are children, but none that has ended.
    AllAlive,
    /// There are no children. For a child subreaper this means that there are no descendants at all.
    NoneLeft,
}

/// Whether all threads of a process have ended, so that it can do nothing more. It is there still if nobody has reaped
/// it, and nobody can while somebody traces it who does not look after it.
#[must_use]
pub fn is_dead(pid: Pid) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else {
        // It is gone, or hidden, or there are too many open files.
        return test_kill_process(pid) == Err(Errno::SRCH);
    };
    let has_ended =
        |stat: &[u8]| fields_of(stat).and_then(|mut fields| fields.next()).is_none_or(|state| "ZXx".contains(state));
    threads.flatten().all(|thread| fs::read(thread.path().join("stat")).map_or(true, |stat| has_ended(&stat)))
}

/// How a process that has ended but cannot be reaped did so, as far as the kernel tells.
#[must_use]
pub fn exit_of_dead(pid: Pid) -> Option<CommandExit> {
    // To other users the kernel shows a zero, which would pass for a success.
    let (owner, user) = (fs::metadata(format!("/proc/{}", pid.as_raw_nonzero())).ok()?.uid(), geteuid());
    if !user.is_root() && owner != user.as_raw() {
        return None;
    }
    let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let status: i32 = fields_of(&stat)?.nth(EXIT_STATUS_AT)?.parse().ok()?;
    Some(if status & 0x7f == 0 { CommandExit::Code(status >> 8 & 0xff) } else { CommandExit::Signal(status & 0x7f) })
}

/// How a process that was reaped has ended.
#[must_use]
pub fn exit_of(status: WaitStatus) -> CommandExit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => CommandExit::Code(code),
        (None, signal) => CommandExit::Signal(signal.unwrap_or_default()),
    }
}

fn children_by_parent() -> io::Result<HashMap<Pid, Vec<Pid>>> {
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(parse) else { continue };
        // Whoever cannot be read has just ended.
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    Ok(children)
}

fn parse(pid: &str) -> Option<Pid> {
    pid.parse().ok().and_then(Pid::from_raw)
}

fn parent_of(pid: Pid) -> Option<Pid> {
    parent_in_stat(&fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?)
}

/// The parent in a line of `/proc/PID/stat`: `PID (name) state parent …`.
fn parent_in_stat(stat: &[u8]) -> Option<Pid> {
    fields_of(stat)?.nth(1).and_then(parse)
}

/// The fields of such a line from the state on.
fn fields_of(stat: &[u8]) -> Option<str::SplitAsciiWhitespace<'_>> {
    // The name is chosen by the process and may hold spaces, parentheses and bytes that are no text; no later field
    // can hold a parenthesis.
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    Some(str::from_utf8(stat.get(name_end + 1..)?).ok()?.split_ascii_whitespace())
}

/// Which of the fields from the state on is the one that `wait` would give.
const EXIT_STATUS_AT: usize = 49;
/// Each round kills all it finds, so only a tree that forks faster than `/proc` is read needs more than a few.
const KILL_ROUNDS: usize = 8;
/// Some milliseconds, in which tens of generations come and go.
const HUNT_ROUNDS: usize = 256;
/// Those that are killed and just take a moment to be gone need not be killed again.
const UNCHANGED_ROUNDS: usize = 3;
/// How often a line of ancestors is followed anew when it breaks.
const LINE_ATTEMPTS: usize = 3;
/// A bound on the ancestors followed, for a line that process ids reused meanwhile might have made endless.
const MAX_DEPTH: usize = 65_536;

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    use super::*;

    #[test]
    fn the_parent_is_found_behind_a_hostile_name() {
        let stat = b"42 (a) R 1 (b \xff) S 7 42 42 0 -1 4194560";
        assert_eq!(parent_in_stat(stat), Pid::from_raw(7));
    }

    #[test]
    fn garbage_has_no_parent() {
        for stat in [&b""[..], b"42", b"42 (a", b"42 (a) S", b"42 (a) S x", b"1 (init) S 0"] {
            assert_eq!(parent_in_stat(stat), None, "{stat:?}");
        }
    }

    #[test]
    fn a_child_is_a_member_unless_it_is_spared() {
        let child = Sleeper::start();
        let tree = ProcessTree::below(getpid());
        assert!(tree.members().unwrap().contains(&child.pid()) && tree.contains(child.pid()));
        let sparing = tree.sparing([child.pid()]);
        assert!(!sparing.members().unwrap().contains(&child.pid()) && !sparing.contains(child.pid()));
    }

    #[test]
    fn strangers_are_not_signalled() {
        let (mut stranger, other) = (Sleeper::start(), Sleeper::start());
        ProcessTree::below(other.pid()).signal_member(stranger.pid(), Signal::KILL).unwrap();
        // Had the first signal been sent, it would have been the one to end the process.
        ProcessTree::below(getpid()).signal_member(stranger.pid(), Signal::TERM).unwrap();
        assert_eq!(stranger.0.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    }

    /// A process that is gone at the end of the test.
    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Self {
            Self(Command::new("sleep").arg("60").spawn().unwrap())
        }

        fn pid(&self) -> Pid {
            Pid::from_child(&self.0)
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }
}
