//! This store among the others of its file.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error::Fault;
use super::process::Process;
use super::pulse::Pulse;
use super::registry::Registry;
use tenure_core::record::ProcessToken;

/// The store's own pipes, made when they are first needed: who only looks leaves no trace.
#[derive(Debug)]
pub(super) struct Presence {
    pulse: Arc<Pulse>,
    place: Mutex<Place>,
}

#[derive(Debug)]
struct Place {
    registry: Registry,
    process: Option<Process>,
}

impl Presence {
    pub(super) fn new(registry: Registry, pulse: Arc<Pulse>) -> Self {
        Self { pulse, place: Mutex::new(Place { registry, process: None }) }
    }

    pub(super) fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    pub(super) fn registry(&self) -> Registry {
        self.place().registry.clone()
    }

    /// Who this is, if anybody can know of it.
    pub(super) fn token(&self) -> Option<ProcessToken> {
        self.place().process.as_ref().map(Process::token)
    }

    /// Who this is. From here on others can tell whether it lives.
    pub(super) fn show(&self) -> Result<ProcessToken, Fault> {
        let mut place = self.place();
        if let Some(process) = &place.process {
            // What others may have put in the place of the pipes tells nobody that this process lives.
            place.registry.check()?;
            return Ok(process.token());
        }
        self.begin(&mut place)
    }

    /// The same for somebody who is about to ask for a lease of at most this ttl.
    pub(super) fn pledge(&self, ttl: Duration) -> Result<ProcessToken, Fault> {
        let mut token = self.show()?;
        let mut place = self.place();
        let Place { registry, process } = &*place;
        if process.as_ref().is_some_and(|process| !process.is_found_in(registry)) {
            // The directory was deleted with what was in it.
            token = self.begin(&mut place)?;
        }
        place.process.as_mut().map_or(Ok(()), |process| process.pledge(ttl))?;
        Ok(token)
    }

    /// Lets go of the pipes: whoever held a lease here does not trust it any more.
    pub(super) fn leave(&self) {
        self.place().process = None;
    }

    pub(super) fn life_line(&self) -> Result<OwnedFd, Fault> {
        self.show()?;
        let place = self.place();
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let life_line = place.process.as_ref().ok_or_else(missing).and_then(Process::life_line);
        life_line.map_err(|error| Fault::io("share a pipe in", place.registry.directory(), error))
    }

    /// Follows a database that was opened anew, perhaps elsewhere. Pipes that nobody can find any more are given up.
    pub(super) fn move_to(&self, registry: Registry) {
        let mut place = self.place();
        place.process.take_if(|process| !process.is_found_in(&registry));
        place.registry = registry;
    }

    fn begin(&self, place: &mut Place) -> Result<ProcessToken, Fault> {
        let (process, bell) = Process::begin(&place.registry)?;
        self.pulse
            .listen_to(bell)
            .map_err(|error| Fault::io("wait for a pipe in", place.registry.directory(), error))?;
        Ok(place.process.insert(process).token())
    }

    /// A panic elsewhere cannot have left it half changed: it is only ever replaced as a whole.
    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
