//! What a process tells its crash helper, one line of JSON each.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{OrphanLease, StoreAccess};

/// One thing that a crash helper is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum HelperOrder {
    /// How to open the store.
    Store(StoreAccess),
    /// A candidacy holds this lease, in the place of any earlier one.
    Held {
        /// The number of the candidacy.
        candidacy: u64,
        /// Its lease.
        lease: OrphanLease,
        /// How long the lease lives at most.
        ttl: Duration,
    },
    /// A candidacy holds no lease any more.
    Released {
        /// The number of the candidacy.
        candidacy: u64,
    },
    /// The process takes its leave: that it is gone after this is no crash.
    Goodbye,
}

/// What a crash helper answers as soon as it watches the process.
pub const READY: u8 = b'!';

impl HelperOrder {
    /// As a line.
    pub(super) fn line(&self) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Reads a line.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(line: &[u8]) -> io::Result<Self> {
        Ok(serde_json::from_slice(line)?)
    }
}
