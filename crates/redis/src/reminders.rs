//! Warnings that are repeated from time to time, instead of each time they apply.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_store::ElectionKey;

/// The time of the last warning for each election.
#[derive(Debug, Default)]
pub(super) struct Reminders(Mutex<BTreeMap<ElectionKey, Instant>>);

/// The interval in which a warning is not repeated.
const PAUSE: Duration = Duration::from_secs(60);

impl Reminders {
    /// Whether a warning for this election is due. If so, it counts as given.
    pub(super) fn is_due(&self, key: &ElectionKey) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = told.get(key).is_none_or(|at| at.elapsed() >= PAUSE);
        if is_due {
            // What has not been seen for a while is no news to be kept.
            told.retain(|_, at| at.elapsed() < PAUSE);
            told.insert(key.clone(), Instant::now());
        }
        is_due
    }
}
