//! A wall clock that jumps, for the processes that are told to look at it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the processes under it take for the time of day. Every other clock of theirs stays true.
///
/// It is made of the library of the command `faketime`, which stands between a process and the C library, and reads from
/// a file, at each look at the clock, how wrong it is to be.
#[derive(Debug)]
pub struct WallClock {
    file: PathBuf,
}

impl WallClock {
    /// A clock that is right, and will be set through this file.
    #[must_use]
    pub fn at(file: PathBuf) -> Self {
        Self { file }
    }

    /// Lets it be wrong by this many seconds, at once.
    pub fn jump_to(&self, offset_s: i64) {
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{offset_s:+}\n")).unwrap();
        // In one step, so that nobody reads half of a number.
        std::fs::rename(&new, &self.file).unwrap();
    }

    /// Lets a command, and all that it starts, look at this clock.
    pub fn govern(&self, command: &mut Command) {
        if !self.file.exists() {
            self.jump_to(0);
        }
        command
            .env("LD_PRELOAD", library())
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }
}

impl Drop for WallClock {
    /// Removes what the library leaves in shared memory of a process that was killed.
    fn drop(&mut self) {
        let owner = |name: &str| {
            name.strip_prefix("sem.").unwrap_or(name).strip_prefix("faketime_s")?.get(3..)?.parse::<i32>().ok()
        };
        for entry in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            if owner(&entry.file_name().to_string_lossy())
                .is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
            {
                // An error means that another test has just removed it.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Asked of the command itself, since it lies elsewhere on each kind of machine.
fn library() -> OsString {
    let asked = Command::new("faketime").args(["-m", "-f", "+0", "printenv", "LD_PRELOAD"]).output();
    let asked = asked.expect("faketime runs; `cargo xtask test` installs it");
    String::from_utf8(asked.stdout).unwrap().trim().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_jumps() {
        let directory = tempfile::tempdir().unwrap();
        let clock = WallClock::at(directory.path().join("clock"));
        let seen = || {
            let mut date = Command::new("date");
            clock.govern(date.arg("+%s"));
            String::from_utf8(date.output().unwrap().stdout).unwrap().trim().parse::<i64>().unwrap()
        };
        let before = seen();
        for jump in [3_600, -3_600] {
            clock.jump_to(jump);
            assert!((seen() - before - jump).abs() < 600, "the clock did not jump by {jump} s");
        }
    }
}
