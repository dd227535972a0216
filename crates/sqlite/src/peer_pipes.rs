//! This store's own pipes: one proves that it is alive, and one wakes it.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::OFlags;

use super::error::SqliteStoreError;
use super::note::Note;
use super::peer_registry::{PeerRegistry, life_name, note_name, remove_from, token, wake_pipe_name};
use super::pipe_dir::{PipeDir, overwrite};
use tenure_store::record::ProcessToken;

/// Shows that this store is alive, until it is dropped or its process ends.
#[derive(Debug)]
pub(super) struct PeerPipes {
    token: ProcessToken,
    registry: PeerRegistry,
    folder: PipeDir,
    life: OwnedFd,
    note: Option<OwnedFd>,
    hold: Duration,
}

impl PeerPipes {
    /// Creates the pipes. Also returns the reading end of the wake pipe.
    pub(super) fn begin(registry: &PeerRegistry) -> Result<(Self, OwnedFd), SqliteStoreError> {
        let folder = registry.make_folder()?;
        let failed = |error| SqliteStoreError::io("make a pipe in", registry.directory(), error);
        let (token, life, note) = begin_life(registry, &folder).map_err(failed)?;
        let process = Self { token, registry: registry.clone(), folder, life, note, hold: Duration::ZERO };
        let wake_pipe = make_wake_pipe(&process.folder, token).map_err(failed)?;
        Ok((process, wake_pipe))
    }

    pub(super) fn token(&self) -> ProcessToken {
        self.token
    }

    /// Another descriptor of the life pipe, which must be closed as well for the life to end.
    pub(super) fn life_line(&self) -> io::Result<OwnedFd> {
        self.life.try_clone()
    }

    /// Lets others know that a lease may be held for this long. Must come before it is asked for. Takes no descriptor,
    /// of which there may be none left.
    pub(super) fn pledge(&mut self, hold: Duration) -> Result<(), SqliteStoreError> {
        if hold > self.hold
            && let (Some(note), Some(identity)) = (&self.note, self.registry.identity())
        {
            // Whoever reads it in this very moment finds that files were lost already, and so does this process then.
            overwrite(note, &Note::new(identity, hold).text())
                .map_err(|error| SqliteStoreError::io("write into", self.registry.directory(), error))?;
            self.hold = hold;
        }
        Ok(())
    }

    /// Whether the pipes can still be found, in that directory and for those files.
    pub(super) fn is_found_in(&self, registry: &PeerRegistry) -> bool {
        self.registry.is_same(registry) && self.registry.has_pipes(self.token)
    }
}

impl Drop for PeerPipes {
    fn drop(&mut self) {
        // Before the life itself ends: see `PeerRegistry::look`.
        remove_from(&self.folder, self.token);
    }
}

/// The pipe gets its final name only when its write end is open, so it never looks dead while its creator lives.
fn begin_life(registry: &PeerRegistry, folder: &PipeDir) -> io::Result<(ProcessToken, OwnedFd, Option<OwnedFd>)> {
    let random = getrandom::u64().map_err(io::Error::other)?;
    let draft = format!("{random:016x}.new");
    folder.make_pipe(&draft)?;
    let ends = || {
        let foreign = || io::Error::from(io::ErrorKind::PermissionDenied);
        // A pipe cannot be opened for writing without waiting unless somebody reads it.
        let (_reader, inode) = folder.open_pipe(&draft, OFlags::RDONLY)?.ok_or_else(foreign)?;
        let (life, _) = folder.open_pipe(&draft, OFlags::WRONLY)?.ok_or_else(foreign)?;
        let token = token(random, inode.number);
        let note = registry.identity().map(|identity| Note::new(identity, Duration::ZERO).text());
        let note = note.map(|text| folder.create(&note_name(token), &text)).transpose()?;
        folder.rename(&draft, &life_name(token)).inspect_err(|_| folder.remove(&note_name(token)))?;
        Ok((token, life, note))
    };
    ends().inspect_err(|_| folder.remove(&draft))
}

fn make_wake_pipe(folder: &PipeDir, token: ProcessToken) -> io::Result<OwnedFd> {
    let name = wake_pipe_name(token);
    folder.make_pipe(&name)?;
    // Open for writing, too, so that it never ends while nobody is writing.
    let wake_pipe = folder.open_pipe(&name, OFlags::RDWR)?;
    wake_pipe.map(|(wake_pipe, _)| wake_pipe).ok_or_else(|| io::Error::from(io::ErrorKind::PermissionDenied))
}
