//! The command that the guard guards, with everything that descends from it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process_group, pidfd_open};
use tenure_core::Instant;

use super::super::cage::Cage;
use super::super::message::{Exit, Report, SpawnFailure, Work};
use super::super::tree::{Reaped, Tree, exit_of, hunt, reap};
use super::schedule::{Due, Schedule};

/// One run of a command, until nothing of it is left.
pub(super) struct Task {
    /// When it stops; orders may change that.
    pub(super) schedule: Schedule,
    /// The command's first process, which leads its process group.
    main: Pid,
    /// Becomes readable when it ends. Where there is none (no descriptor was free), its end is looked for.
    main_ended: Option<OwnedFd>,
    /// How the first process ended, once it has.
    exit: Option<Exit>,
    /// Whether it was stopped before it had ended.
    stopped: bool,
    grace: Duration,
    /// How soon to look again while only the end of what is left is waited for.
    look_again: Duration,
}

impl Task {
    pub(super) fn spawn(
        work: &Work,
        stdin: Option<BorrowedFd<'_>>,
        cage: Option<&Cage>,
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
        // Without a descriptor to spare the command is found by its ancestors alone, as where there is no cage.
        if let Some(entrance) = cage.and_then(|cage| cage.entrance().ok()) {
            tenure_sys::join_control_group(&mut command, entrance.into());
        }
        let main = Pid::from_child(&command.spawn().map_err(failed)?);
        Ok(Self {
            schedule: Schedule::new(work.trust),
            main,
            main_ended: pidfd_open(main, PidfdFlags::empty()).ok(),
            exit: None,
            stopped: false,
            grace: work.grace,
            look_again: LOOK_AGAIN_MIN,
        })
    }

    pub(super) fn main_id(&self) -> u32 {
        self.main.as_raw_nonzero().get().unsigned_abs()
    }

    /// What becomes readable when the first process ends, as long as it has not ended.
    pub(super) fn main_alive(&self) -> Option<BorrowedFd<'_>> {
        self.main_ended.as_ref().filter(|_| self.exit.is_none()).map(AsFd::as_fd)
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

    /// Reaps who has ended and does what is due. Returns how the command ended once nothing of it is left.
    pub(super) fn tend(&mut self, now: Instant, cage: Option<&Cage>) -> Option<Report> {
        if self.reap() {
            // Everyone was reaped here, the first process too.
            return self.exit.map(if self.stopped { Report::Stopped } else { Report::Ended });
        }
        if self.exit.is_some() && !self.schedule.is_stopping() {
            self.schedule.terminate(now + self.grace);
        }
        let due = self.schedule.due(now);
        self.stopped |= due != Due::Nothing && self.exit.is_none();
        match due {
            Due::Nothing => {}
            Due::Stop => self.stop(),
            Due::Kill => self.kill(cage),
        }
        None
    }

    /// When to look again, whatever else happens.
    pub(super) fn wake_at(&self, now: Instant) -> Instant {
        let due_at = self.schedule.wake_at();
        let look_again_at = now + self.look_again;
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
        self.look_again = (self.look_again * 2).min(LOOK_AGAIN_MAX);
        loop {
            match reap() {
                Ok(Reaped::Child(pid, status)) => {
                    self.look_again = LOOK_AGAIN_MIN;
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
        let tree = Tree::below(getpid());
        if tree.signal(Signal::TERM).is_err() {
            // Better twice than not at all: this way needs neither `/proc` nor a free descriptor.
            self.forward(Signal::TERM.as_raw());
        }
        // A process that is stopped could not act on the request.
        let _ = tree.signal(Signal::CONT);
    }

    fn kill(&mut self, cage: Option<&Cage>) {
        // These first: each is one atomic step, and needs neither `/proc` nor a free descriptor.
        self.forward(Signal::KILL.as_raw());
        let _ = cage.map(Cage::kill);
        // Then whoever is in neither. Whoever is left after an error is killed when we look again.
        if !hunt(|_| false, || self.reap()).unwrap_or(false) {
            let _ = Tree::below(getpid()).kill();
        }
    }
}

/// The program, and where it runs: the error may be about either.
fn shown(work: &Work) -> String {
    let program = work.program.display();
    work.directory.as_ref().map_or(program.to_string(), |directory| format!("{program} in {}", directory.display()))
}

fn kind_of(error: &io::Error) -> SpawnFailure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => SpawnFailure::NotFound,
        Some(Errno::ACCESS | Errno::PERM | Errno::NOEXEC | Errno::ISDIR) => SpawnFailure::NotExecutable,
        _ => SpawnFailure::Other,
    }
}

/// Short enough that the end of a command is reported without a delay that anybody would notice.
const LOOK_AGAIN_MIN: Duration = Duration::from_millis(5);
/// Long enough that a process which cannot be killed, or not yet, costs next to nothing.
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(1);
