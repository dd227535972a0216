//! Which of the standard streams were closed when this process was started.
//!
//! The runtime of Rust opens `/dev/null` in place of those that are, before `main`: what is written there vanishes without an
//! error. A `/dev/null` that somebody gave on purpose looks the same afterwards, so the kernel is asked before.

use std::sync::atomic::{AtomicU8, Ordering};

/// A standard stream that is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandardStream {
    /// Descriptor 1.
    Output = 1,
    /// Descriptor 2.
    Error = 2,
}

/// One bit for each that was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

// SAFETY: the C library calls what this section lists once, before `main`, with arguments that `note` does not look at. It
// needs nothing that is set up later: it asks the kernel, and writes to memory that is there from the beginning.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = note;

extern "C" fn note() {
    for stream in [StandardStream::Output, StandardStream::Error] {
        // SAFETY: it takes any number, open or not, and changes nothing.
        if unsafe { libc::fcntl(stream as libc::c_int, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << stream as u8, Ordering::Relaxed);
        }
    }
}

/// Whether this stream was closed when the process was started, so that nobody ever sees what is written to it.
#[must_use]
pub fn was_closed_at_start(stream: StandardStream) -> bool {
    CLOSED.load(Ordering::Relaxed) & (1 << stream as u8) != 0
}
