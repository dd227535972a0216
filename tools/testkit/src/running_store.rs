//! A store of its own for one test, and a directory beside it.

use std::any::Any;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::stores::{Backend, StoreEndpoint, StoreServer};
use crate::wall_clock::FakeWallClock;

/// A store that runs until the end of the test, and a directory.
pub struct RunningStore {
    server: Box<dyn StoreServer>,
    wall_clock: FakeWallClock,
    directory: TempDir,
}

impl RunningStore {
    /// An empty store of this kind.
    #[must_use]
    pub fn on(backend: &dyn Backend) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let wall_clock = FakeWallClock::at(directory.path().join("wall-clock"));
        let server = backend.start(directory.path(), &wall_clock);
        Self { server, wall_clock, directory }
    }

    /// A store that runs already.
    #[must_use]
    pub fn at(server: impl StoreServer + 'static) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let wall_clock = FakeWallClock::at(directory.path().join("wall-clock"));
        Self { server: Box::new(server), wall_clock, directory }
    }

    /// A file of this name, which no other test has.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where candidates find the store.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Lets the store answer nothing until what is returned is dropped.
    #[must_use]
    pub fn stall(&self) -> Box<dyn Any> {
        self.server.stall()
    }

    /// Where the store listens, which the test knows to be reached over a network.
    #[must_use]
    pub fn endpoint(&self) -> StoreEndpoint {
        self.server.endpoint().expect("a store that is reached over a network")
    }

    /// The wall clock of the store, and of whomever else the test puts under it.
    #[must_use]
    pub fn wall_clock(&self) -> &FakeWallClock {
        &self.wall_clock
    }
}
