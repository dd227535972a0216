//! The directory next to the database where processes show that they live, and can be woken.
//!
//! Each open store has two pipes there, named by its token: it holds the *write* end of `….life` open for as long as
//! it lives, which the kernel ends with it, and reads from `….wake`. Nothing here ever blocks: all ends are opened
//! non-blocking, and nobody writes to a life.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, open, stat};
use rustix::io::Errno;

use super::config::Location;
use tenure_core::record::ProcessToken;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registry {
    directory: PathBuf,
}

/// What the kernel says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Lives,
    /// Nobody holds the pipe, although nobody has taken it away either.
    Gone,
    /// There is no pipe, or not the one the process made. Its lease then counts until it runs out.
    Unknown,
}

impl Registry {
    pub(super) fn of(location: &Location) -> Self {
        Self { directory: location.processes() }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn life_path(&self, process: ProcessToken) -> PathBuf {
        self.directory.join(format!("{:032x}.life", process.0))
    }

    pub(super) fn wake_path(&self, process: ProcessToken) -> PathBuf {
        self.directory.join(format!("{:032x}.wake", process.0))
    }

    pub(super) fn look(&self, process: ProcessToken) -> Life {
        match self.open_life(process) {
            Some(life) if ended(&life) => self.confirm_end(process),
            Some(_) => Life::Lives,
            None => Life::Unknown,
        }
    }

    /// The reading end of a process's life, if it is the very pipe that the process made.
    pub(super) fn open_life(&self, process: ProcessToken) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let life = open(self.life_path(process), flags, Mode::empty()).ok()?;
        let stat = fstat(&life).ok()?;
        (is_fifo(stat.st_mode) && stat.st_ino == inode_in(process)).then_some(life)
    }

    /// Tells a process that something changed. False when it cannot be told because it is gone.
    pub(super) fn wake(&self, process: ProcessToken, line: &[u8]) -> bool {
        let path = self.wake_path(process);
        let flags = OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match open(&path, flags | OFlags::WRONLY, Mode::empty()) {
            Ok(pipe) if fstat(&pipe).is_ok_and(|stat| is_fifo(stat.st_mode)) => {
                // Should it die at this very moment, this reader saves us from SIGPIPE.
                if let Ok(_reader) = open(&path, flags | OFlags::RDONLY, Mode::empty()) {
                    // A full pipe means that it has plenty to read already.
                    let _ = rustix::io::write(&pipe, line);
                }
                true
            }
            Ok(_) => true,
            Err(Errno::NXIO | Errno::NOENT) => false,
            Err(_) => true,
        }
    }

    /// Whether any process at all shows that it lives.
    pub(super) fn has_living(&self) -> bool {
        self.processes().into_iter().any(|process| self.look(process) == Life::Lives)
    }

    /// The processes that died and left their pipes behind.
    pub(super) fn dead(&self) -> Vec<ProcessToken> {
        self.processes().into_iter().filter(|process| self.look(*process) == Life::Gone).collect()
    }

    pub(super) fn remove(&self, process: ProcessToken) {
        // The life goes first: without it nobody can take the end of its holder for a death.
        let _ = fs::remove_file(self.life_path(process));
        let _ = fs::remove_file(self.wake_path(process));
    }

    fn processes(&self) -> Vec<ProcessToken> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter_map(|name| u128::from_str_radix(name.strip_suffix(".life")?, 16).ok()).map(ProcessToken).collect()
    }

    /// A store that is closed in an orderly way removes its life before it lets go of it, and its process may well go
    /// on. So an end counts as death only if the pipe is still there after it was seen.
    fn confirm_end(&self, process: ProcessToken) -> Life {
        match stat(self.life_path(process)) {
            Ok(stat) if stat.st_ino == inode_in(process) => Life::Gone,
            Ok(_) | Err(_) => Life::Unknown,
        }
    }
}

/// Whether nobody holds the write end any more.
pub(super) fn ended(life: &OwnedFd) -> bool {
    matches!(rustix::io::read(life, &mut [0; 1]), Ok(0))
}

/// A token ends with the number of the life's inode. While its holder lives, no other file can have that number, so a
/// pipe that was copied or restored under the same name is not mistaken for a dead one.
pub(super) fn token(random: u64, inode: u64) -> ProcessToken {
    ProcessToken(u128::from(random) << 64 | u128::from(inode))
}

pub(super) fn inode_in(process: ProcessToken) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
    let inode = process.0 as u64;
    inode
}

pub(super) fn is_fifo(mode: u32) -> bool {
    FileType::from_raw_mode(mode) == FileType::Fifo
}

/// Makes a pipe with a name, for this user only.
pub(super) fn make_fifo(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?)
}
