//! Signals that a process lets pass without dying and without handing that down to the programs it starts.

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
}
