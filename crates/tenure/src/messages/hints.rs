//! Hints that messages may wait. The store is watched once for all inboxes of a client, however many there are.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tenure_core::Backoff;

use crate::contain::contain_async;
use crate::driver::CandidacyId;
use crate::retry::spread;
use crate::shared::Shared;
use crate::store::{ElectionKey, Hint, Interest, Store};

/// Passes hints on to the inboxes they concern.
#[derive(Default)]
pub(crate) struct MessageHints(Mutex<HintedInboxes>);

#[derive(Default)]
struct HintedInboxes {
    candidacies: BTreeMap<(ElectionKey, CandidacyId), Arc<Shared>>,
    is_watched: bool,
}

/// While it lives, an inbox gets hints.
pub(super) struct HintSubscription {
    hints: Arc<MessageHints>,
    key: (ElectionKey, CandidacyId),
}

/// A store that never stops hinting must not keep elections from being held.
const HINTS_PER_TURN: usize = 64;

impl MessageHints {
    /// Lets the inbox of a candidacy get hints. Must be called on the driver's runtime, where the store is watched from then on.
    pub(super) fn subscribe(self: &Arc<Self>, shared: &Arc<Shared>, store: &Arc<dyn Store>) -> HintSubscription {
        let key = (shared.key.clone(), shared.id);
        let mut inboxes = self.inboxes();
        if !inboxes.is_watched {
            let stream = store.watch(Interest::Messages);
            tokio::spawn(watch(Arc::clone(self), Arc::clone(store), stream));
            inboxes.is_watched = true;
        }
        inboxes.candidacies.insert(key.clone(), Arc::clone(shared));
        HintSubscription { hints: Arc::clone(self), key }
    }

    /// Passes on all that a stream says.
    async fn follow(&self, hints: BoxStream<'static, Hint>) {
        let mut hints = hints.ready_chunks(HINTS_PER_TURN);
        while let Some(ready) = hints.next().await {
            ready.iter().for_each(|hint| self.pass_on(hint));
            tokio::task::yield_now().await;
        }
    }

    fn pass_on(&self, hint: &Hint) {
        for shared in self.concerned(hint) {
            if let Some(inbox) = shared.inbox() {
                inbox.look(&shared);
            }
        }
    }

    /// A hint may concern several candidates of this process, and it may be wrong.
    fn concerned(&self, hint: &Hint) -> Vec<Arc<Shared>> {
        let inboxes = self.inboxes();
        match &hint.key {
            Some(key) => {
                let from_here = inboxes.candidacies.range((key.clone(), CandidacyId(0))..);
                from_here.take_while(|((other, _), _)| other == key).map(|(_, shared)| Arc::clone(shared)).collect()
            }
            None => inboxes.candidacies.values().cloned().collect(),
        }
    }

    /// A panic elsewhere cannot have left it half changed: every step is made of plain assignments.
    fn inboxes(&self) -> MutexGuard<'_, HintedInboxes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches the store for as long as the driver runs.
async fn watch(hints: Arc<MessageHints>, store: Arc<dyn Store>, stream: BoxStream<'static, Hint>) {
    let mut failures = 0_u32;
    let mut ended = contain_async(hints.follow(stream)).await;
    while let Err(panic) = ended {
        log!(error, "the store panicked while it was watched for messages: {panic}");
        failures = failures.saturating_add(1);
        tokio::time::sleep(Backoff::RETRY.delay(failures, spread())).await;
        // A stream that panicked must not be asked again, and what it had to say is lost.
        let anew = async {
            let stream = store.watch(Interest::Messages);
            hints.pass_on(&Hint::anywhere());
            hints.follow(stream).await;
        };
        ended = contain_async(anew).await;
    }
}

impl Drop for HintSubscription {
    fn drop(&mut self) {
        self.hints.inboxes().candidacies.remove(&self.key);
    }
}

impl fmt::Debug for MessageHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageHints").finish_non_exhaustive()
    }
}
