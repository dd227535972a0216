//! The guarded command, with all its descendants.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process_group, pidfd_open};
use tenure_core::{Backoff, Instant};

use super::super::cgroup::Cgroup;
use super::super::message::{CommandExit, CommandSpec, GuardReport, SpawnFailure};
use super::super::tree::{ProcessTree, Reaped, exit_of, exit_of_dead, hunt, is_dead, own_children, reap};
use super::schedule::{CommandDeadlines, DueAction};

/// One run of a command, until nothing of it is left.
pub(super) struct Task {
    /// When it stops; orders may change that.
    pub(super) schedule: CommandDeadlines,
    /// The command's first process, which leads its process group.
    main: Pid,
    /// Becomes readable when it ends. Where there is none (no descriptor was free), its end is looked for.
    main_ended: Option<OwnedFd>,
    /// How the first process ended, once it has.
    exit: Option<CommandExit>,
    /// Whether it was stopped before it had ended.
    stopped: bool,
    grace: Duration,
    /// The number of the next look since one of its processes ended: the higher, the later, while only the end of what is
    /// left is waited for.
    next_look: u32,
    /// Since when the first process has ended, if it cannot be reaped.
    main_over_since: Option<Instant>,
    /// Since when all who are left are dead, if they cannot be reaped.
    dead_since: Option<Instant>,
    /// Whether it was killed, and told that this was not the end yet.
    killed: bool,
}

impl Task {
    pub(super) fn spawn(
        work: &CommandSpec,
        stdin: Option<BorrowedFd<'_>>,
        cgroup: Option<&Cgroup>,
    ) -> Result<Self, (SpawnFailure, String)> {
        let failed = |error: io::Error| (kind_of(&error), format!("cannot run {}: {error}", shown(work)));
        let stdin = stdin.map(|stdin| stdin.try_clone_to_owned()).transpose().map_err(failed)?;
        let mut command = Command::new(&work.program);
        command.args(&work.args);
        if let Some(directory) = &work.directory {
            command.current_dir(directory);
        }
        for name in &work.env_remove {
            command.env_remove(name);
        }
        command.envs(work.env_set.iter().map(|(name, value)| (name, value)));
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from)).process_group(0);
        // The guard has one thread, so this means: with the guard.
        tenure_sys::die_with_parent(&mut command);
        // Without a descriptor to spare the command is found by its ancestors alone, as where there is no control group.
        if let Some(entrance) = cgroup.and_then(|cgroup| cgroup.entrance().ok()) {
            tenure_sys::join_control_group(&mut command, entrance.into());
        }
        let main = Pid::from_child(&command.spawn().map_err(failed)?);
        Ok(Self {
            schedule: CommandDeadlines::new(work.trust),
            main,
            main_ended: pidfd_open(main, PidfdFlags::empty()).ok(),
            exit: None,
            stopped: false,
            grace: work.grace,
            next_look: 1,
            main_over_since: None,
            dead_since: None,
            killed: false,
        })
    }

    pub(super) fn main_id(&self) -> u32 {
        self.main.as_raw_nonzero().get().unsigned_abs()
    }

    /// What becomes readable when the first process ends, as long as it has not ended.
    pub(super) fn main_alive(&self) -> Option<BorrowedFd<'_>> {
        self.main_ended.as_ref().filter(|_| self.exit.is_none() && self.main_over_since.is_none()).map(AsFd::as_fd)
    }

    /// Sends a signal to the process group of the command.
    pub(super) fn forward(&self, number: i32) {
        // Once the first process is reaped, the number of the group may belong to another.
        if self.exit.is_none()
            && let Some(signal) = Signal::from_named_raw(number)
        {
            let _ = kill_process_group(self.main, signal);
        }
    }

    /// Reaps who has ended and does what is due. Returns what there is to report: at last how the command ended, once
    /// nothing of it is left.
    pub(super) fn tend(&mut self, now: Instant, cgroup: Option<&Cgroup>) -> Vec<GuardReport> {
        self.next_look = self.next_look.saturating_add(1);
        if self.reap() {
            // Everyone was reaped here, the first process too.
            return self.end().into_iter().collect();
        }
        self.notice_that_main_is_over(now);
        if self.exit.is_some() && !self.schedule.is_stopping() {
            self.schedule.terminate(now + self.grace);
        }
        let due = self.schedule.due(now);
        self.stopped |= due != DueAction::Nothing && self.exit.is_none();
        match due {
            DueAction::Nothing => {}
            DueAction::Stop => self.stop(),
            DueAction::Kill => {
                if self.kill(cgroup) {
                    return self.end().into_iter().collect();
                }
                if !self.killed {
                    (self.killed, self.next_look) = (true, 1);
                    // A sign of life: `tenure` takes a guard that says nothing now for one that was stopped.
                    return vec![held(self.one_left(), false)];
                }
            }
        }
        self.give_up_on_the_held(now)
    }

    /// Somebody who is left, alive if possible.
    fn one_left(&self) -> Pid {
        let left = own_children().unwrap_or_default();
        left.iter().copied().find(|&pid| !is_dead(pid)).or(left.first().copied()).unwrap_or(self.main)
    }

    fn end(&self) -> Option<GuardReport> {
        self.exit.map(if self.stopped { GuardReport::Stopped } else { GuardReport::Ended })
    }

    /// Takes note that the first process has ended although it cannot be reaped, because somebody traces it who may or
    /// may not let go of it.
    fn notice_that_main_is_over(&mut self, now: Instant) {
        if self.exit.is_some() || !self.main_ended.as_ref().is_some_and(is_readable) {
            return;
        }
        let since = *self.main_over_since.get_or_insert(now);
        if now >= since + HELD_FOR_LONG {
            self.exit = Some(self.exit_of_held());
        }
    }

    /// How the first process ended, which cannot be asked. What is not known must not pass for a success.
    fn exit_of_held(&self) -> CommandExit {
        exit_of_dead(self.main).unwrap_or(CommandExit::Signal(Signal::KILL.as_raw()))
    }

    /// Looks whether there are only such left as nobody can end, once there is time for it.
    fn give_up_on_the_held(&mut self, now: Instant) -> Vec<GuardReport> {
        if self.exit.is_none() && !self.killed {
            return Vec::new();
        }
        let mut left = ProcessTree::below(getpid()).members().unwrap_or_default();
        // Those that `/proc` hides are among the children.
        left.extend(own_children().unwrap_or_default());
        left.sort_unstable_by_key(|pid| pid.as_raw_nonzero());
        left.dedup();
        if left.is_empty() || !left.iter().copied().all(is_dead) {
            self.dead_since = None;
            return Vec::new();
        }
        if now < *self.dead_since.get_or_insert(now) + HELD_FOR_LONG {
            return Vec::new();
        }
        if self.exit.is_none() {
            self.exit = Some(self.exit_of_held());
        }
        left.into_iter().map(|pid| held(pid, true)).chain(self.end()).collect()
    }

    /// When to look again, whatever else happens.
    pub(super) fn wake_at(&self, now: Instant) -> Instant {
        let due_at = self.schedule.wake_at();
        let look_again_at = now + LOOK_AGAIN.ceiling(self.next_look);
        if now >= due_at {
            // It is being killed, and whoever was missed must be killed again.
            look_again_at
        } else if self.main_alive().is_none() {
            // Those who are left end without a word to us.
            due_at.min(look_again_at)
        } else {
            due_at
        }
    }

    /// Reaps all who have ended, and says whether nobody is left.
    fn reap(&mut self) -> bool {
        loop {
            match reap() {
                Ok(Reaped::Child(pid, status)) => {
                    self.next_look = 1;
                    if pid == self.main {
                        self.exit = Some(exit_of(status));
                    }
                }
                Ok(Reaped::NoneLeft) => return true,
                Ok(Reaped::AllAlive) | Err(_) => return false,
            }
        }
    }

    fn stop(&self) {
        let tree = ProcessTree::below(getpid());
        if tree.signal(Signal::TERM).is_err() {
            // Better twice than not at all: this way needs neither `/proc` nor a free descriptor.
            self.forward(Signal::TERM.as_raw());
        }
        // A process that is stopped could not act on the request.
        let _ = tree.signal(Signal::CONT);
    }

    /// Kills everything, and says whether nothing is left already.
    fn kill(&mut self, cgroup: Option<&Cgroup>) -> bool {
        // These first: each is one atomic step, and needs neither `/proc` nor a free descriptor.
        self.forward(Signal::KILL.as_raw());
        let _ = cgroup.map(Cgroup::kill);
        // Then whoever is in neither. Whoever is left after an error is killed when we look again.
        let none_left = hunt(|_| false, || self.reap()).unwrap_or(false);
        // To look at every process takes time, which those who die at once do not need.
        if !none_left && self.killed {
            let _ = ProcessTree::below(getpid()).kill();
        }
        none_left
    }
}

fn held(pid: Pid, dead: bool) -> GuardReport {
    GuardReport::Held { pid: pid.as_raw_nonzero().get().unsigned_abs(), dead }
}

fn is_readable(descriptor: &OwnedFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// The program, and where it runs: the error may be about either.
fn shown(work: &CommandSpec) -> String {
    let program = work.program.display();
    work.directory.as_ref().map_or(program.to_string(), |directory| format!("{program} in {}", directory.display()))
}

fn kind_of(error: &io::Error) -> SpawnFailure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => SpawnFailure::NotFound,
        Some(Errno::ACCESS | Errno::PERM | Errno::NOEXEC | Errno::ISDIR) => SpawnFailure::NotExecutable,
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => SpawnFailure::NoResources,
        _ => SpawnFailure::Other,
    }
}

/// Long enough for a tracer that does look after what it traces.
const HELD_FOR_LONG: Duration = Duration::from_millis(100);
/// First so soon that the end of a command is reported without a delay that anybody would notice, at last so rarely that a
/// process which cannot be killed, or not yet, costs next to nothing.
const LOOK_AGAIN: Backoff = Backoff::new(Duration::from_millis(5), Duration::from_secs(1));
