//! Waits for processes that still trust a file that is gone.
//!
//! A process that finds the database missing, or another one in its place, must not let anybody lead by it while a
//! leader by the former one may not have noticed. Whoever leads leaves a [`Note`] of its files and of its ttl. From the
//! moment its files are seen to be gone it can renew nothing, so its trust ends a ttl later, if its process does not
//! end or let go before.

use std::collections::HashMap;

use tenure_store::Instant;
use tenure_store::record::ProcessToken;

use super::error::SqliteStoreError;
use super::note::Note;
use super::peer_registry::PeerRegistry;

/// The time at which the files of other processes were first seen to be gone.
#[derive(Debug, Default)]
pub(super) struct LostFiles {
    since: HashMap<ProcessToken, Instant>,
}

impl LostFiles {
    /// # Errors
    /// While a process may lead by files that are not those at the path.
    pub(super) fn check(
        &mut self,
        registry: &PeerRegistry,
        now: Instant,
        is_other: impl Fn(&Note) -> bool,
    ) -> Result<(), SqliteStoreError> {
        let others: HashMap<ProcessToken, Note> =
            registry.notes().into_iter().filter(|(_, note)| is_other(note)).collect();
        self.since.retain(|process, _| others.contains_key(process));
        let ends = others.into_iter().map(|(process, note)| *self.since.entry(process).or_insert(now) + note.hold);
        let ends: Vec<Instant> = ends.filter(|end| *end > now).collect();
        match ends.iter().max() {
            Some(last) => Err(SqliteStoreError::Awaited { processes: ends.len(), at_most: last.saturating_since(now) }),
            None => Ok(()),
        }
    }
}
