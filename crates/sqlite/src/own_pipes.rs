//! The pipes of this store, among those of other users of its file.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error::SqliteStoreError;
use super::peer_pipes::PeerPipes;
use super::peer_registry::PeerRegistry;
use super::wake_listener::WakeListener;
use tenure_store::record::ProcessToken;

/// The store's own pipes, created when first needed: a store that only reads leaves no trace.
#[derive(Debug)]
pub(super) struct OwnPipes {
    wake_listener: Arc<WakeListener>,
    place: Mutex<PipePlace>,
}

#[derive(Debug)]
struct PipePlace {
    registry: PeerRegistry,
    process: Option<PeerPipes>,
}

impl OwnPipes {
    pub(super) fn new(registry: PeerRegistry, wake_listener: Arc<WakeListener>) -> Self {
        Self { wake_listener, place: Mutex::new(PipePlace { registry, process: None }) }
    }

    pub(super) fn wake_listener(&self) -> &Arc<WakeListener> {
        &self.wake_listener
    }

    pub(super) fn registry(&self) -> PeerRegistry {
        self.place().registry.clone()
    }

    /// The token of this process, if it has shown one.
    pub(super) fn token(&self) -> Option<ProcessToken> {
        self.place().process.as_ref().map(PeerPipes::token)
    }

    /// The token of this process. From now on others can tell whether it is alive.
    pub(super) fn show(&self) -> Result<ProcessToken, SqliteStoreError> {
        let mut place = self.place();
        if let Some(process) = &place.process {
            // What others may have put in the place of the pipes tells nobody that this process lives.
            place.registry.check()?;
            return Ok(process.token());
        }
        self.begin(&mut place)
    }

    /// The same, before requesting a lease of at most this ttl.
    pub(super) fn pledge(&self, ttl: Duration) -> Result<ProcessToken, SqliteStoreError> {
        let mut token = self.show()?;
        let mut place = self.place();
        let PipePlace { registry, process } = &*place;
        if process.as_ref().is_some_and(|process| !process.is_found_in(registry)) {
            // The directory was deleted with what was in it.
            token = self.begin(&mut place)?;
        }
        place.process.as_mut().map_or(Ok(()), |process| process.pledge(ttl))?;
        Ok(token)
    }

    /// Drops the pipes: no candidate here trusts a lease now.
    pub(super) fn leave(&self) {
        self.place().process = None;
    }

    pub(super) fn life_line(&self) -> Result<OwnedFd, SqliteStoreError> {
        self.show()?;
        let place = self.place();
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let life_line = place.process.as_ref().ok_or_else(missing).and_then(PeerPipes::life_line);
        life_line.map_err(|error| SqliteStoreError::io("share a pipe in", place.registry.directory(), error))
    }

    /// Follows a database that was reopened, perhaps elsewhere. Pipes that can no longer be found are dropped.
    pub(super) fn move_to(&self, registry: PeerRegistry) {
        let mut place = self.place();
        place.process.take_if(|process| !process.is_found_in(&registry));
        place.registry = registry;
    }

    fn begin(&self, place: &mut PipePlace) -> Result<ProcessToken, SqliteStoreError> {
        let (process, wake_pipe) = PeerPipes::begin(&place.registry)?;
        self.wake_listener
            .listen_to(wake_pipe)
            .map_err(|error| SqliteStoreError::io("wait for a pipe in", place.registry.directory(), error))?;
        Ok(place.process.insert(process).token())
    }

    /// A panic elsewhere cannot leave it half changed: it is only ever replaced as a whole.
    fn place(&self) -> MutexGuard<'_, PipePlace> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
