//! Coming first when processors are scarce.

use std::io;

/// Makes the calling thread run before all that have no real-time priority, as soon as it wants to: `SCHED_RR` with the lowest
/// priority there is. What it forks does not inherit that.
///
/// # Errors
/// When the system does not allow it: that takes `CAP_SYS_NICE` or a limit of real-time priorities (`ulimit -r`).
pub fn run_before_others() -> io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the structure is initialised and lives for the call, which only reads it; 0 means the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const lowest) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
