//! Waiting for a descriptor on the async runtime.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the runtime this is called on, which must have I/O enabled.
///
/// # Errors
/// When the descriptor cannot be polled, or too many are.
pub fn async_fd(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` stands for one open descriptor, always the same, for as long as it lives, and `AsyncFd`
    // deregisters it before it is closed.
    let registered = unsafe { AsyncFd::register(fd) };
    registered.map_err(|error| error.into_parts().1)
}
