//! Noticing a fork: a forked child inherits every value of its parent, including the belief that it leads.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::process::getpid;

/// Detects whether it is still in the process in which it was made.
///
/// A value that must not be believed in a forked child (a leadership, a lock) keeps a marker from its own birth and asks
/// it on every use. Asking costs one load and one comparison: the marker compares with a word on a page that the kernel
/// wipes in every forked child (`MADV_WIPEONFORK`). Where the kernel refuses such a page, it compares process ids, which
/// is as correct but costs a system call.
///
/// A forked child may make markers of its own, which hold there; the inherited ones stay false.
///
/// ```
/// let marker = tenure_sys::ForkMarker::of_this_process();
/// assert!(marker.is_same_process());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ForkMarker {
    /// The wiped word, or none where the kernel has no such page.
    word: Option<&'static AtomicU64>,
    /// What the word, or else the process id, is in the process the marker was made in.
    expected: u64,
}

impl ForkMarker {
    /// Creates a marker of this process. In forked children it does not match.
    #[must_use]
    pub fn of_this_process() -> Self {
        static WORD: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
        match *WORD.get_or_init(wiped_on_fork) {
            Some(word) => Self { word: Some(word), expected: generation(word) },
            None => Self::by_process_id(),
        }
    }

    /// Whether the caller runs in the process in which the marker was made.
    #[inline]
    #[must_use]
    pub fn is_same_process(&self) -> bool {
        match self.word {
            // Relaxed is enough: the word changes only by a fork, which is ordered with everything in the child.
            Some(word) => word.load(Ordering::Relaxed) == self.expected,
            None => process_id() == self.expected,
        }
    }

    fn by_process_id() -> Self {
        Self { word: None, expected: process_id() }
    }
}

/// The number of this process in its line of forks, written into `word` if a fork (or the start) left it empty.
fn generation(word: &AtomicU64) -> u64 {
    // This counter is ordinary memory, which a fork copies: a child therefore takes a number that no ancestor used.
    // Process ids would not do, since the kernel may give a grandchild the id of a dead grandparent.
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let ours = NEXT.fetch_add(1, Ordering::Relaxed);
    match word.compare_exchange(0, ours, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => ours,
        Err(already_written) => already_written,
    }
}

/// A zeroed word, for the rest of the process's life, that reads zero again in every forked child.
fn wiped_on_fork() -> Option<&'static AtomicU64> {
    // The kernel rounds the length up to a page; the word is all that is ever used of it.
    let length = size_of::<AtomicU64>();
    // SAFETY: with a null address and no MAP_FIXED the kernel picks an unused range, so no existing memory changes.
    let page =
        unsafe { mmap_anonymous(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) }
            .ok()?;
    // SAFETY: the range is the mapping just made, to which nobody holds a reference yet.
    if unsafe { madvise(page, length, Advice::LinuxWipeOnFork) }.is_err() {
        // SAFETY: as above; failing to unmap leaks a page and nothing else.
        let _ = unsafe { munmap(page, length) };
        return None;
    }
    // SAFETY: the mapping is readable, writable, zeroed, aligned to a page and never unmapped, so it is a valid
    // `AtomicU64` for ever; all access goes through this shared reference.
    Some(unsafe { &*page.cast::<AtomicU64>() })
}

fn process_id() -> u64 {
    u64::from(getpid().as_raw_nonzero().get().unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exit code of a forked child that runs `in_child`, which may only do what is safe after a fork.
    fn exit_code_of_fork(in_child: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child touches only atomics and `_exit`, never the allocator or a lock of this threaded process.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork failed");
        if pid == 0 {
            let code = in_child();
            // SAFETY: `_exit` runs no destructors and no handlers of the parent's.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: `status` is a valid place for the status of our own child.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        assert!(libc::WIFEXITED(status), "the child was killed: {status:#x}");
        libc::WEXITSTATUS(status)
    }

    #[test]
    fn the_kernel_offers_the_fast_way() {
        assert!(ForkMarker::of_this_process().word.is_some());
    }

    #[test]
    fn inherited_markers_stay_false_when_the_child_makes_its_own() {
        let inherited = ForkMarker::of_this_process();
        let code = exit_code_of_fork(|| {
            let before = inherited.is_same_process();
            let own = ForkMarker::of_this_process();
            i32::from(before) + 2 * i32::from(own.is_same_process()) + 4 * i32::from(inherited.is_same_process())
        });
        assert_eq!(code, 2, "only the child's own marker holds in the child");
        assert!(inherited.is_same_process());
    }

    #[test]
    fn a_grandchild_believes_neither_ancestor() {
        let first = ForkMarker::of_this_process();
        let code = exit_code_of_fork(|| {
            let second = ForkMarker::of_this_process();
            exit_code_of_fork(|| {
                let third = ForkMarker::of_this_process();
                let held = [first, second, third].map(|marker| i32::from(marker.is_same_process()));
                held[0] + 2 * held[1] + 4 * held[2]
            })
        });
        assert_eq!(code, 4);
    }

    #[test]
    fn the_fallback_tells_a_fork_by_its_process_id() {
        let marker = ForkMarker::by_process_id();
        assert!(marker.is_same_process());
        assert_eq!(exit_code_of_fork(|| i32::from(marker.is_same_process())), 0);
    }
}
