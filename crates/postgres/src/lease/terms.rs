//! The highest terms that a handle has seen.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tenure_store::{ElectionKey, Term};

use super::super::identifier::election_id;

/// For each election the highest term. Whoever decides by it has its own memory; this is only to notice that a server has
/// forgotten something, and that another one may know better.
#[derive(Default)]
pub(super) struct Terms(Mutex<HashMap<u128, Term>>);

/// With more elections than this it starts over.
const MAX_ELECTIONS: usize = 4_096;

impl Terms {
    /// Whether this term is below one seen before.
    pub(super) fn falls(&self, key: &ElectionKey, shown: Term) -> bool {
        let mut terms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if terms.len() >= MAX_ELECTIONS {
            terms.clear();
        }
        let highest = terms.entry(election_id(key)).or_insert(shown);
        let falls = shown < *highest;
        *highest = shown.max(*highest);
        falls
    }
}
