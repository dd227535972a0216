//! The same for plain threads: no async runtime needed.

use std::time::Duration;

use tenure_core::{CandidateId, Leader};

use super::Candidacy;
use crate::blocking::{block_on, block_on_for};
use crate::error::Error;
use crate::leadership::Leadership;

impl Candidacy {
    /// [`elected`](Self::elected) for plain threads.
    ///
    /// # Errors
    /// When the election is stopped.
    pub fn wait_elected(&self) -> Result<Leadership, Error> {
        block_on(self.elected())
    }

    /// Waits for at most `limit` to lead; `None` when it was not enough.
    ///
    /// # Errors
    /// When the election is stopped.
    pub fn wait_elected_for(&self, limit: Duration) -> Result<Option<Leadership>, Error> {
        block_on_for(self.elected(), limit).transpose()
    }

    /// [`current_leader`](Self::current_leader) for plain threads.
    ///
    /// # Errors
    /// When the store fails.
    pub fn current_leader_blocking(&self) -> Result<Option<Leader>, Error> {
        block_on(self.current_leader())
    }

    /// [`resign`](Self::resign) for plain threads.
    ///
    /// # Errors
    /// When this candidate does not lead.
    pub fn resign_blocking(&self) -> Result<(), Error> {
        block_on(self.resign())
    }

    /// [`resign_to`](Self::resign_to) for plain threads.
    ///
    /// # Errors
    /// When this candidate does not lead.
    pub fn resign_to_blocking(&self, successor: CandidateId) -> Result<(), Error> {
        block_on(self.resign_to(successor))
    }

    /// [`stop`](Self::stop) for plain threads.
    pub fn stop_blocking(&self) {
        block_on(self.stop());
    }
}
