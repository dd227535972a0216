//! Temporary directories of servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::TempDir;

/// A directory that is removed when it is dropped. If that never happens, because the process is killed or because a
/// `static` holds it, the next process that makes one removes it: all of them lie in one directory per process, which is
/// named after the process.
#[derive(Debug)]
pub struct Scratch {
    directory: Option<TempDir>,
}

impl Scratch {
    /// A new one, empty.
    #[must_use]
    pub fn new() -> Self {
        let mut is_swept = SWEPT.lock().unwrap();
        if !*is_swept {
            sweep(&std::env::temp_dir());
            *is_swept = true;
        }
        fs::create_dir_all(of_process(std::process::id())).unwrap();
        Self { directory: Some(TempDir::new_in(of_process(std::process::id())).unwrap()) }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.as_ref().unwrap().path()
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nobody may be about to make a directory in the one that goes now.
        let _lock = SWEPT.lock();
        drop(self.directory.take());
        // It is not empty while others are in it, and then it has to stay.
        let _ = fs::remove_dir(of_process(std::process::id()));
    }
}

/// Removes what processes have left that are gone, and what one with this process' id has left.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let owner = owner_of(&entry.file_name().to_string_lossy());
        if owner.is_some_and(is_gone) {
            // Another process may be sweeping, too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn of_process(pid: u32) -> PathBuf {
    std::env::temp_dir().join(format!("{PREFIX}{pid}"))
}

fn owner_of(name: &str) -> Option<u32> {
    let pid = name.strip_prefix(PREFIX)?.parse().ok()?;
    // What we would not have written ourselves is somebody else's.
    (format!("{PREFIX}{pid}") == name).then_some(pid)
}

fn is_gone(pid: u32) -> bool {
    pid == std::process::id() || !Path::new(&format!("/proc/{pid}")).exists()
}

const PREFIX: &str = "tenure-testkit-";

/// Whether this process has swept; locked by whoever makes or removes a directory.
static SWEPT: Mutex<bool> = Mutex::new(false);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_until_it_is_dropped() {
        let scratch = Scratch::new();
        let path = scratch.path().to_owned();
        fs::write(path.join("file"), "text").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_process_has_left_that_is_gone_is_swept_and_nothing_else() {
        let folder = TempDir::new().unwrap();
        let made = ["tenure-testkit-4294967295", "tenure-testkit-1", "other"].map(|name| folder.path().join(name));
        made.iter().for_each(|path| fs::create_dir_all(path.join("inside")).unwrap());
        sweep(folder.path());
        assert_eq!(made.map(|path| path.exists()), [false, true, true]);
    }

    #[test]
    fn names_of_others_are_not_ours() {
        for other in ["tenure-testkit-", "tenure-testkit-01", "tenure-testkit-x", "tenure-1", "x"] {
            assert_eq!(owner_of(other), None, "{other}");
        }
    }
}
