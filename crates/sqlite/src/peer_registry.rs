//! The directory next to the database where processes show that they are alive, and can be woken.
//!
//! Each open store has two pipes there, named by its token: it holds the *write* end of `….life` open for as long as
//! it lives, which the kernel ends with it, and reads from `….wake`. Nothing here ever blocks: all ends are opened
//! non-blocking, and nobody writes to a life. Beside them is a [`Note`].
//!
//! A directory or a pipe that somebody else may have put there tells nothing.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;
use tenure_store::Term;

use super::access::{FileStatus, TrustedUsers};
use super::busy::BusyWait;
use super::config::Location;
use super::error::SqliteStoreError;
use super::identity::{FileIdentity, Pins};
use super::note::Note;
use super::pipe_dir::PipeDir;
use tenure_store::record::ProcessToken;

#[derive(Debug, Clone)]
pub(super) struct PeerRegistry {
    directory: PathBuf,
    database: PathBuf,
    files: Option<(FileIdentity, Arc<Pins>)>,
}

/// The kernel's verdict on a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Liveness {
    Lives,
    /// No process holds the pipe open, although it was not removed either.
    Gone,
    /// There is no pipe, or not the one that the process created. Its lease then counts until it runs out.
    Unknown,
}

/// The highest term that was known when files were last seen to be gone.
const FLOOR: &str = "floor";

impl PeerRegistry {
    pub(super) fn of(location: &Location) -> Self {
        Self { directory: location.processes(), database: location.real.clone(), files: None }
    }

    /// The same for a user of these files.
    pub(super) fn with(self, identity: FileIdentity, pins: Arc<Pins>) -> Self {
        Self { files: Some((identity, pins)), ..self }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The files in use; `None` if they have not been opened.
    pub(super) fn identity(&self) -> Option<&FileIdentity> {
        self.files.as_ref().map(|(identity, _)| identity)
    }

    /// Whether it is the same directory, for the same files.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.directory, self.identity()) == (&other.directory, other.identity())
    }

    /// # Errors
    /// When there is something in the place of the directory that somebody else may have made.
    pub(super) fn check(&self) -> Result<(), SqliteStoreError> {
        let Some(seen) = FileStatus::exactly_at(&self.directory)? else { return Ok(()) };
        let owner = FileStatus::at(&self.database)?.map_or(0, |database| database.owner);
        let checked = seen.check_directory(TrustedUsers::with_database_of(owner));
        checked.map_err(|flaw| SqliteStoreError::unfit(&self.directory, flaw))
    }

    pub(super) fn make_folder(&self) -> Result<PipeDir, SqliteStoreError> {
        PipeDir::make(&self.directory, &self.database)
    }

    pub(super) fn look(&self, process: ProcessToken) -> Liveness {
        let Some(folder) = self.folder() else { return Liveness::Unknown };
        match open_life_in(&folder, process) {
            Some(life) if ended(&life) => confirm_end(&folder, process),
            Some(_) => Liveness::Lives,
            None => Liveness::Unknown,
        }
    }

    /// The reading end of a process's life pipe, if it is the very pipe that the process created.
    pub(super) fn open_life(&self, process: ProcessToken) -> Option<OwnedFd> {
        open_life_in(&self.folder()?, process)
    }

    /// Whether the pipes of a process exist. Needs no descriptor, since there may be none left.
    pub(super) fn has_pipes(&self, process: ProcessToken) -> bool {
        let look = |name: String| FileStatus::exactly_at(&self.directory.join(name)).ok().flatten();
        look(life_name(process)).is_some_and(|life| life.inode.number == inode_in(process))
            && look(wake_pipe_name(process)).is_some()
    }

    /// Notifies a process of a change. False if the process is gone.
    pub(super) fn wake(&self, process: ProcessToken, line: &[u8]) -> bool {
        let folder = match PipeDir::open(&self.directory, &self.database) {
            Ok(Some(folder)) => folder,
            Ok(None) => return false,
            Err(_) => return true,
        };
        let name = wake_pipe_name(process);
        match folder.open_pipe(&name, OFlags::WRONLY) {
            Ok(Some((pipe, _))) => {
                // Should it die at this very moment, this reader saves us from SIGPIPE.
                if let Ok(Some(_reader)) = folder.open_pipe(&name, OFlags::RDONLY) {
                    // A full pipe means that it has plenty to read already.
                    let _ = rustix::io::write(&pipe, line);
                }
                true
            }
            Ok(None) => true,
            Err(Errno::NXIO | Errno::NOENT) => false,
            Err(_) => true,
        }
    }

    /// Whether any process shows that it is alive.
    pub(super) fn has_living(&self) -> bool {
        self.processes().into_iter().any(|process| self.look(process) == Liveness::Lives)
    }

    /// The processes that died and left their pipes behind.
    pub(super) fn dead(&self) -> Vec<ProcessToken> {
        self.processes().into_iter().filter(|process| self.look(*process) == Liveness::Gone).collect()
    }

    /// The notes of live processes about the files they use.
    pub(super) fn notes(&self) -> Vec<(ProcessToken, Note)> {
        let Some(folder) = self.folder() else { return Vec::new() };
        let living = self.processes().into_iter().filter(|process| self.look(*process) == Liveness::Lives);
        let note = |process| Note::understand(&folder.read(&note_name(process))?);
        living.filter_map(|process| Some((process, note(process)?))).collect()
    }

    pub(super) fn remove(&self, process: ProcessToken) {
        if let Some(folder) = self.folder() {
            remove_from(&folder, process);
        }
    }

    /// Terms of elections that are new, or were put back by a restored file, begin above this.
    pub(super) fn floor(&self) -> Result<Option<Term>, SqliteStoreError> {
        // There hardly ever is one.
        if FileStatus::exactly_at(&self.directory.join(FLOOR))?.is_none() {
            return Ok(None);
        }
        Ok(PipeDir::open(&self.directory, &self.database)?.and_then(|folder| floor_in(&folder)))
    }

    /// Makes terms begin above this one. If it cannot be written, it is forgotten, as it was with the files.
    pub(super) fn raise_floor(&self, term: Term) {
        let Some(folder) = self.folder() else { return };
        let mut patience = BusyWait::new();
        let mut failed = 0;
        while folder.lock().is_err() && patience.wait(failed) {
            failed += 1;
        }
        if floor_in(&folder) >= Some(term) {
            return;
        }
        let Ok(random) = getrandom::u64() else { return };
        let _ = folder.write(FLOOR, &format!("{random:016x}.new"), &format!("{}\n", term.get()));
    }

    fn folder(&self) -> Option<PipeDir> {
        PipeDir::open(&self.directory, &self.database).ok().flatten()
    }

    fn processes(&self) -> Vec<ProcessToken> {
        let names = self.folder().map(|folder| folder.names()).unwrap_or_default();
        let tokens = names.iter().filter_map(|name| u128::from_str_radix(name.strip_suffix(".life")?, 16).ok());
        tokens.map(ProcessToken).collect()
    }
}

pub(super) fn life_name(process: ProcessToken) -> String {
    format!("{:032x}.life", process.0)
}

pub(super) fn wake_pipe_name(process: ProcessToken) -> String {
    format!("{:032x}.wake", process.0)
}

pub(super) fn note_name(process: ProcessToken) -> String {
    format!("{:032x}.note", process.0)
}

/// Removes the life pipe first: without it the end of its holder cannot be taken for a death.
pub(super) fn remove_from(folder: &PipeDir, process: ProcessToken) {
    [life_name(process), wake_pipe_name(process), note_name(process)].iter().for_each(|name| folder.remove(name));
}

/// Whether all processes have closed the write end.
pub(super) fn ended(life: &OwnedFd) -> bool {
    matches!(rustix::io::read(life, &mut [0; 1]), Ok(0))
}

/// A token ends with the number of the life's inode. While its holder lives, no other file can have that number, so a
/// pipe that was copied or restored under the same name is not mistaken for a dead one.
pub(super) fn token(random: u64, inode: u64) -> ProcessToken {
    ProcessToken(u128::from(random) << 64 | u128::from(inode))
}

fn inode_in(process: ProcessToken) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
    let inode = process.0 as u64;
    inode
}

fn open_life_in(folder: &PipeDir, process: ProcessToken) -> Option<OwnedFd> {
    let (life, inode) = folder.open_pipe(&life_name(process), OFlags::RDONLY).ok()??;
    (inode.number == inode_in(process)).then_some(life)
}

/// A store that is closed in an orderly way removes its life before it lets go of it, and its process may well go
/// on. So an end counts as death only if the pipe is still there after it was seen.
fn confirm_end(folder: &PipeDir, process: ProcessToken) -> Liveness {
    match folder.look_at_pipe(&life_name(process)) {
        Some(inode) if inode.number == inode_in(process) => Liveness::Gone,
        Some(_) | None => Liveness::Unknown,
    }
}

fn floor_in(folder: &PipeDir) -> Option<Term> {
    Term::new(folder.read(FLOOR)?.trim().parse().ok()?)
}
