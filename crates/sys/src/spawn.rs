//! A child that does not outlive the process that started it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// Makes the kernel send SIGKILL to the child as soon as the process that spawned it ends, for whatever reason.
///
/// Call this in the process that will spawn the command. Two limits come from the kernel:
///
/// - The signal (`PR_SET_PDEATHSIG`) follows the *thread* that forks, not the process: spawn from a thread that lives as
///   long as the process, or the child is killed when, say, a pool thread is retired.
/// - Running a set-user-id program clears it, and the child's own children do not inherit it. Who must be sure that
///   nothing is left has to look for descendants as well.
pub fn die_with_parent(command: &mut Command) {
    signal_with_parent(command, Signal::KILL);
}

/// Makes the kernel send the child this signal as soon as the process that spawned it ends, for a child that has to
/// clean up first. The limits of [`die_with_parent`] apply.
///
/// A command that changes the user may have this: the kernel forgets the signal when a process becomes somebody else, and
/// the standard library does that first.
pub fn signal_with_parent(command: &mut Command, signal: Signal) {
    signal_with(command, signal, getpid());
}

/// Makes the child write `0` to this file before it executes the program: the kernel then moves it into the control
/// group of the file, a `cgroup.procs`. If that fails, the program runs nevertheless.
pub fn join_control_group(command: &mut Command, procs: OwnedFd) {
    let join = move || {
        let _ = rustix::io::write(&procs, b"0");
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one plain system call; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(join) };
}

fn signal_with(command: &mut Command, signal: Signal, parent: Pid) {
    let arm = move || {
        set_parent_process_death_signal(Some(signal))?;
        // The parent may have died between fork and prctl, in which case the signal will never come.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from(Errno::SRCH)) }
    };
    // SAFETY: between fork and exec the closure makes two plain system calls; it neither allocates nor takes a lock
    // (an `io::Error` made of an error number owns nothing).
    unsafe { command.pre_exec(arm) };
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::thread;

    use super::*;

    #[test]
    fn the_child_is_killed_when_the_thread_that_forked_it_ends() {
        let spawn = || {
            let mut command = Command::new("sleep");
            command.arg("60");
            die_with_parent(&mut command);
            command.spawn().unwrap()
        };
        let mut child = thread::spawn(spawn).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    }

    #[test]
    fn the_child_is_sent_the_signal_that_was_asked_for() {
        let spawn = || {
            let mut command = Command::new("sleep");
            command.arg("60");
            signal_with_parent(&mut command, Signal::TERM);
            command.spawn().unwrap()
        };
        let mut child = thread::spawn(spawn).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    }

    #[test]
    fn a_child_whose_parent_is_already_gone_does_not_start() {
        let mut command = Command::new("true");
        signal_with(&mut command, Signal::KILL, Pid::INIT);
        assert_eq!(command.spawn().unwrap_err().raw_os_error(), Some(Errno::SRCH.raw_os_error()));
    }
}
