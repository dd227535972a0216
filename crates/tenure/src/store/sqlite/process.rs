//! This store's own pipes: the proof of its life and the bell it can be woken by.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;

use rustix::fs::{Mode, OFlags, fstat, open};

use super::error::Fault;
use super::registry::{Registry, make_fifo, token};
use tenure_core::record::ProcessToken;

/// Lives until it is dropped, or until the kernel ends the process, whichever it is that ends it.
#[derive(Debug)]
pub(super) struct Process {
    token: ProcessToken,
    registry: Registry,
    life: OwnedFd,
}

impl Process {
    /// Makes the pipes. Returns the reading end of the bell too.
    pub(super) fn begin(registry: &Registry) -> Result<(Self, OwnedFd), Fault> {
        let directory = registry.directory();
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Fault::io("make the directory", directory, error));
            }
            Ok(()) | Err(_) => {}
        }
        let (token, life) = begin_life(registry).map_err(|error| Fault::io("make a pipe in", directory, error))?;
        let process = Self { token, registry: registry.clone(), life };
        let bell = make_bell(registry, token).map_err(|error| Fault::io("make a pipe in", directory, error))?;
        Ok((process, bell))
    }

    pub(super) fn token(&self) -> ProcessToken {
        self.token
    }

    /// Another handle on this life, which it then takes to end, too.
    pub(super) fn life_line(&self) -> io::Result<OwnedFd> {
        self.life.try_clone()
    }

    /// Whether others can still find the pipes, in that directory.
    pub(super) fn is_found_in(&self, registry: &Registry) -> bool {
        self.registry == *registry
            && self.registry.open_life(self.token).is_some()
            && self.registry.wake_path(self.token).exists()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Before the life itself ends: see `Registry::look`.
        self.registry.remove(self.token);
    }
}

/// The pipe gets its final name only when its write end is open, so it never looks dead while its maker lives.
fn begin_life(registry: &Registry) -> io::Result<(ProcessToken, OwnedFd)> {
    let random = getrandom::u64().map_err(io::Error::other)?;
    let draft = registry.directory().join(format!("{random:016x}.new"));
    make_fifo(&draft)?;
    let ends = || {
        // A pipe cannot be opened for writing without waiting unless somebody reads it.
        let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
        let reader = open(&draft, flags | OFlags::RDONLY, Mode::empty())?;
        let life = open(&draft, flags | OFlags::WRONLY, Mode::empty())?;
        let token = token(random, fstat(&reader)?.st_ino);
        fs::rename(&draft, registry.life_path(token))?;
        Ok((token, life))
    };
    ends().inspect_err(|_| {
        let _ = fs::remove_file(&draft);
    })
}

fn make_bell(registry: &Registry, token: ProcessToken) -> io::Result<OwnedFd> {
    let path = registry.wake_path(token);
    make_fifo(&path)?;
    // Open for writing, too, so that it never ends while nobody is writing.
    Ok(open(&path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?)
}
