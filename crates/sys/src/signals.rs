//! Signals: surviving them without passing that on to child programs, and unblocking them.

use std::{io, mem, ptr};

use rustix::process::Signal;

/// Makes this process survive the given signals, each of which will merely interrupt a blocking system call.
///
/// They are caught by a handler that does nothing rather than ignored: an ignored signal stays ignored in every program
/// the process starts, whereas a caught one starts there with its default action. A signal that was ignored already
/// stays so (that is what `nohup` asks for), except SIGCHLD, because ignoring it would lose the exit status of children.
///
/// # Errors
/// When the kernel refuses, as it does for SIGKILL and SIGSTOP.
pub fn outlive_signals(signals: &[Signal]) -> io::Result<()> {
    signals.iter().try_for_each(|&signal| outlive(signal))
}

/// Unblocks all signals for this thread and the threads it starts, whatever the parent process had blocked.
///
/// # Errors
/// When the kernel refuses.
pub fn unblock_signals() -> io::Result<()> {
    let mut none = mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: it is a valid place for a set of signals, which this makes empty.
    check(unsafe { libc::sigemptyset(none.as_mut_ptr()) })?;
    // SAFETY: the set was initialised above; where the old mask would go, null says that nobody wants it.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Whether this process ignores a signal, as `nohup` makes it ignore SIGHUP.
///
/// # Errors
/// When the kernel knows no such signal.
pub fn is_ignored(signal: Signal) -> io::Result<bool> {
    // SAFETY: all-zero bytes are a valid `sigaction`: no flags, an empty mask, the default action.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: `action` is a valid place for the current action; passing no new action changes nothing.
    check(unsafe { libc::sigaction(signal.as_raw(), ptr::null(), &mut action) })?;
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

fn outlive(signal: Signal) -> io::Result<()> {
    if is_ignored(signal)? && signal != Signal::CHILD {
        return Ok(());
    }
    // SAFETY: all-zero bytes are a valid `sigaction`: no flags, an empty mask, the default action.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = do_nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: `action` is fully initialised, and its handler has the signature that the absent SA_SIGINFO promises and
    // does nothing, which is safe at any point of the program.
    check(unsafe { libc::sigaction(signal.as_raw(), &action, ptr::null_mut()) })
}

extern "C" fn do_nothing(_signal: libc::c_int) {}

fn check(outcome: libc::c_int) -> io::Result<()> {
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{getpid, kill_process};

    use super::*;

    #[test]
    fn the_process_survives_and_its_children_start_with_the_default_action() {
        outlive_signals(&[Signal::USR1]).unwrap();
        kill_process(getpid(), Signal::USR1).unwrap();
        let status = Command::new("sh").args(["-c", "kill -USR1 $$; exit 0"]).status().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(Signal::USR1.as_raw()));
    }

    #[test]
    fn what_cannot_be_caught_is_an_error() {
        assert!(outlive_signals(&[Signal::KILL]).is_err());
    }

    #[test]
    fn what_was_blocked_arrives_once_it_is_not_any_more() {
        let mut usr2 = mem::MaybeUninit::<libc::sigset_t>::uninit();
        outlive_signals(&[Signal::USR2]).unwrap();
        // SAFETY: it is a valid place for a set of signals, initialised before it is used; the old mask is not asked for.
        unsafe {
            libc::sigemptyset(usr2.as_mut_ptr());
            libc::sigaddset(usr2.as_mut_ptr(), libc::SIGUSR2);
            libc::pthread_sigmask(libc::SIG_BLOCK, usr2.as_ptr(), ptr::null_mut());
        }
        let blocked = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim().to_owned();
            u64::from_str_radix(&mask, 16).unwrap() & (1 << (libc::SIGUSR2 - 1)) != 0
        };
        assert!(blocked());
        unblock_signals().unwrap();
        assert!(!blocked());
    }
}
