//! Keeping open files from the programs that a process starts.

use std::os::fd::{BorrowedFd, RawFd};
use std::{fs, io};

use rustix::io::{FdFlags, fcntl_setfd};

/// Marks everything but standard input, output and error to be closed in the programs this process starts.
///
/// What this code base opens is marked from birth. What the process inherited is not, and may be a lock or a connection
/// of whoever started it. Call it before the process has threads: one that opens and closes files meanwhile may lose a
/// race, though only to the effect of a mark too many.
///
/// # Errors
/// When `/proc` cannot be read, so that the open descriptors are not known.
pub fn keep_descriptors_from_children() -> io::Result<()> {
    let listed = fs::read_dir("/proc/self/fd")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let open: Vec<RawFd> = listed.filter(|&descriptor| descriptor > 2).collect();
    for descriptor in open {
        // SAFETY: the descriptor was just listed as open, is borrowed for one call only, and only its flag is set. If it
        // was closed meanwhile (as the one that listed the directory was) the call fails and changes nothing.
        let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let _ = fcntl_setfd(borrowed, FdFlags::CLOEXEC);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use rustix::io::fcntl_getfd;

    use super::*;

    #[test]
    fn an_inherited_descriptor_is_marked() {
        let file = fs::File::open("/proc/self/stat").unwrap();
        fcntl_setfd(&file, FdFlags::empty()).unwrap();
        keep_descriptors_from_children().unwrap();
        assert!(fcntl_getfd(&file).unwrap().contains(FdFlags::CLOEXEC), "{} is not marked", file.as_raw_fd());
    }
}
