//! A wall clock that jumps, for the processes that are told to look at it.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What the processes under it take for the time of day. Every other clock of theirs stays true.
///
/// It is made of a small library that stands between a process and the C library, and looks into a file, at each look at
/// the clock, how wrong it is to be. Whoever asks the kernel without the C library sees the right time.
#[derive(Debug, Clone)]
pub struct FakeWallClock {
    file: PathBuf,
}

impl FakeWallClock {
    /// A clock that is right, and will be set through this file.
    #[must_use]
    pub fn at(file: PathBuf) -> Self {
        Self { file }
    }

    /// Lets it be wrong by this many seconds, at once.
    pub fn jump_to(&self, offset_s: i64) {
        self.write(0, offset_s);
        self.write(2, 0);
    }

    /// Lets it be wrong by this many seconds after so many more looks at it, so that a jump can fall into the middle of a
    /// step of the process. Call [`Self::jump_to`] with the same offset before the next one.
    pub fn jump_after(&self, looks: i64, offset_s: i64) {
        self.write(3, offset_s);
        self.write(2, looks);
    }

    /// Lets it stand still from now on, and show this much since the Unix epoch. What is decided by it does not depend on
    /// how fast the machine is.
    pub fn stop_at(&self, unix: Duration) {
        self.write(1, i64::try_from(unix.as_nanos()).unwrap());
    }

    /// In place and as one number, since processes look at this very file whenever they want.
    fn write(&self, position: u64, number: i64) {
        let file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(&self.file).unwrap();
        file.write_all_at(&number.to_ne_bytes(), position * size_of::<i64>() as u64).unwrap();
    }

    /// Lets a command, and all that it starts, look at this clock.
    pub fn govern(&self, command: &mut Command) {
        self.govern_through(Path::new(LIBRARY), command);
    }

    /// Lets a command look at this clock that is run by somebody else, with a copy of the library in this directory: he
    /// may have no access to where it was built.
    pub(crate) fn govern_from(&self, directory: &Path, command: &mut Command) {
        let copy = directory.join("wall_clock.so");
        if !copy.exists() {
            fs::copy(LIBRARY, &copy).unwrap();
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        }
        self.govern_through(&copy, command);
    }

    /// The file that the processes under it look into.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    fn govern_through(&self, library: &Path, command: &mut Command) {
        // Only now: what nobody looks at need not be there.
        if !self.file.exists() {
            self.jump_to(0);
        }
        command.env("LD_PRELOAD", library).env("TENURE_WALL_CLOCK", &self.file);
    }
}

const LIBRARY: &str = env!("WALL_CLOCK_LIBRARY");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_jumps() {
        let directory = tempfile::tempdir().unwrap();
        let clock = FakeWallClock::at(directory.path().join("clock"));
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

    #[test]
    fn the_time_of_day_stands_still() {
        let directory = tempfile::tempdir().unwrap();
        let clock = FakeWallClock::at(directory.path().join("clock"));
        clock.jump_to(60);
        for unix in [Duration::new(1_893_456_000, 123_456_789), Duration::new(1_000_000_000, 1)] {
            clock.stop_at(unix);
            let mut date = Command::new("date");
            clock.govern(date.arg("+%s %N"));
            let seen = String::from_utf8(date.output().unwrap().stdout).unwrap();
            assert_eq!(seen.trim(), format!("{} {:09}", unix.as_secs(), unix.subsec_nanos()));
        }
    }
}
