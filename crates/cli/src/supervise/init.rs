//! A `tenure` that has no children but its own.
//!
//! What a killed guard leaves behind is handed to `tenure`, and nothing tells it from other children: from those that
//! were there before (`helper & exec tenure run …`), from what these leave behind, and, for the first process of a
//! container, from all that is left behind there. So where there are such children, or may be, `tenure` starts itself once
//! more and stays above as a small init: it reaps whatever ends, kills nothing, and passes signals on.

use std::env;
use std::path::Path;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, setsid, waitid};
use tokio::signal::unix::{SignalKind, signal};

use super::tree::{Reaped, exit_of, reap};
use crate::exit::{CommandError, Exit};
use crate::signals::{SignalRequest, Signals};

/// The hidden word with which `tenure` starts itself once more, before the arguments that it was given.
pub const COMMAND: &str = "__alone";

/// Whether this process has or will have children that it did not start.
#[must_use]
pub fn is_needed() -> bool {
    getpid().is_init() || !matches!(waitid(WaitId::All, any_child()), Err(Errno::CHILD))
}

/// Leaves the session of whoever stays above, so that a signal of the terminal comes once, from there.
pub fn settle() {
    // It fails only for who has one already.
    let _ = setsid();
}

/// Starts `tenure` once more with the same arguments, and does the same end.
///
/// # Errors
/// When it cannot be started, or its end not be waited for.
pub async fn run() -> Result<Exit, CommandError> {
    let mut signals = Signals::listen()?;
    let mut ended = signal(SignalKind::child())?;
    let inner = start()?;
    loop {
        while let Reaped::Child(pid, status) = reap()? {
            if pid == inner {
                return Ok(Exit::Command(exit_of(status)));
            }
        }
        tokio::select! {
            _ = ended.recv() => {}
            SignalRequest::End(number) | SignalRequest::PassOn(number) = signals.next() => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    // It fails only for one that has just ended.
                    let _ = kill_process(inner, signal);
                }
            }
        }
    }
}

fn start() -> Result<Pid, CommandError> {
    let mut command = Command::new(Path::new("/proc/self/exe"));
    command.arg(COMMAND).args(env::args_os().skip(1));
    tenure_sys::die_with_parent(&mut command);
    Ok(Pid::from_child(&command.spawn()?))
}

/// Looks for a child of any kind, ended or not, and leaves it as it is.
fn any_child() -> WaitIdOptions {
    /// `__WALL`, which has no name there: also those that end without SIGCHLD.
    const OF_ANY_KIND: u32 = 0x4000_0000;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    options | WaitIdOptions::from_bits_retain(OF_ANY_KIND)
}
