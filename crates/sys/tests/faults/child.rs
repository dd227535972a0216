//! Doing something in a forked child.

/// A child that waits for what cannot come is ended by this, and its test fails instead of waiting with it.
const LIMIT_SECONDS: u32 = 60;

/// Runs `in_child` in a forked child and returns its exit code.
pub(crate) fn exit_code_of_fork(in_child: impl FnOnce() -> u8) -> i32 {
    // SAFETY: glibc makes its allocator usable in a child forked from a threaded process, and what the child does takes no
    // lock that another thread may hold: that it does not is what is tested, and the alarm ends a child that waits for one.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork failed");
    if pid == 0 {
        // SAFETY: no handler is set for the alarm, so that it ends the process.
        unsafe { libc::alarm(LIMIT_SECONDS) };
        let code = in_child();
        // SAFETY: `_exit` runs no destructors and no handlers of the parent's.
        unsafe { libc::_exit(i32::from(code)) };
    }
    let mut status = 0;
    // SAFETY: `status` is a valid place for the status of our own child.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(
        !(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGALRM),
        "the child waited for more than {LIMIT_SECONDS} s"
    );
    assert!(libc::WIFEXITED(status), "the child was killed: {status:#x}");
    libc::WEXITSTATUS(status)
}
