//! Where tests keep their files.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The directory for temporary files of tests: in memory if there is enough of it, because a disk that flushes for
/// seconds keeps a database locked for as long, and the tests would judge the disk. `None` leaves the system's.
pub(super) fn directory() -> Option<PathBuf> {
    // A choice that was made is kept.
    let is_chosen = env::var_os("TMPDIR").is_some();
    (!is_chosen && available_kib(IN_MEMORY)? >= NEEDED_KIB).then(|| IN_MEMORY.into())
}

/// How much can be written there; `None` if it is no file system in memory.
fn available_kib(directory: &str) -> Option<u64> {
    let listed = Command::new("df").args(["-k", "-t", "tmpfs", "--output=avail", directory]).output().ok()?;
    String::from_utf8_lossy(&listed.stdout).lines().nth(1)?.trim().parse().ok()
}

const IN_MEMORY: &str = "/dev/shm";

/// A database server takes 60 MB, and a dozen of them run side by side.
const NEEDED_KIB: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_memory_counts() {
        assert_eq!(available_kib("/proc"), None);
        assert_eq!(available_kib("/no/such/directory"), None);
    }
}
