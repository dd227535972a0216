//! All candidacies of this process, from which gauges are computed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::class::{Class, known};
use super::list::{EXPIRY, IS_LEADER, MESSAGES_WAITING, TERM};
use super::per_process::PerProcess;
use crate::messages::Inbox;
use crate::shared::Shared;

/// Where one candidacy sits. Ids of candidacies are unique only within their driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CandidacyKey(u64);

#[derive(Debug, Default)]
struct CandidacyRegistry {
    last: u64,
    candidacies: BTreeMap<CandidacyKey, Arc<Shared>>,
}

static REGISTRY: PerProcess<CandidacyRegistry> = PerProcess::new();

/// Something happened since gauges were written last.
static CHANGED: AtomicBool = AtomicBool::new(false);

/// Something happened that gauges should show.
pub(super) fn changed() {
    CHANGED.store(true, Ordering::Release);
}

/// Writes gauges if something happened. The driver calls it once for all that it did together: with ten thousand
/// elections each of them would be looked at for each of them otherwise.
pub(crate) fn settle() {
    if CHANGED.swap(false, Ordering::AcqRel) {
        publish();
    }
}

/// Writes all gauges, as the clock says. The registry stays locked, so that nobody overwrites what is newer.
pub(super) fn publish() {
    let registry = REGISTRY.lock();
    let mut truths: BTreeMap<Class, ClassStatus> =
        known().into_iter().map(|class| (class, ClassStatus::default())).collect();
    for shared in registry.candidacies.values() {
        if let Some(truth) = truths.get_mut(&shared.class) {
            truth.add(shared);
        }
    }
    truths.iter().for_each(|(class, truth)| truth.show(class));
}

/// Registers a candidacy.
pub(super) fn join(shared: &Arc<Shared>) -> CandidacyKey {
    let mut registry = REGISTRY.lock();
    registry.last += 1;
    let candidacy_key = CandidacyKey(registry.last);
    registry.candidacies.insert(candidacy_key, Arc::clone(shared));
    candidacy_key
}

/// Removes it.
pub(super) fn leave(candidacy_key: CandidacyKey) {
    let left = REGISTRY.lock().candidacies.remove(&candidacy_key);
    // Not under the lock: it may be the last handle of something large.
    drop(left);
}

/// What is true of all elections of a class.
#[derive(Debug, Default)]
struct ClassStatus {
    leading: u32,
    term: u64,
    expiry: Option<Duration>,
    waiting: usize,
}

impl ClassStatus {
    fn add(&mut self, shared: &Shared) {
        let Some((term, left)) = shared.leads_for() else { return };
        self.leading += 1;
        self.term = self.term.max(term.get());
        self.expiry = Some(self.expiry.map_or(left, |expiry| expiry.min(left)));
        self.waiting += shared.inbox().map_or(0, Inbox::waiting);
    }

    fn show(&self, class: &Class) {
        IS_LEADER.set(class, f64::from(self.leading));
        // A term fits into 53 bits, so nothing is lost.
        TERM.set(class, self.term as f64);
        EXPIRY.set(class, self.expiry.unwrap_or_default().as_secs_f64());
        MESSAGES_WAITING.set(class, self.waiting as f64);
    }
}
