//! Hints and broadcasts, from notifications to the session and from the wait for holders.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tenure_store::record::RESERVATION;
use tenure_store::remote::push_hub::{PushHub, PushSink, PushSource};
use tenure_store::{CandidateId, ElectionKey, Hint, Interest};

use super::super::pubsub::ChannelSubscriptions;
use super::holder_wait;
use super::notice::Notice;
use super::pubsub::PLACE;
use super::session::{Arrival, LockSession};
use super::shared::AdvisoryShared;

/// The watchers.
pub(super) type AdvisoryPushHub = PushHub<AdvisoryPushSource>;

/// The source of hints. It does not keep the session alive: that ends with the handle.
pub(super) struct AdvisoryPushSource {
    shared: Weak<AdvisoryShared>,
}

/// After a change, all stand-bys look who leads, but not all at once.
const SPREAD: Duration = Duration::from_secs(1);
/// How long those who were not woken by the end of a leader wait for the word of the next one, before they look for
/// themselves: longer than it takes to lead for whoever was woken, and not all of them equally long.
const MISSED: Duration = Duration::from_millis(500);
/// A server that takes longer to confirm that it will tell of broadcasts is asked again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// How long those who stand by let the one of them go first that the server has woken. It is less than what a priority counts.
const COURTESY: Duration = Duration::from_millis(15);

impl AdvisoryPushSource {
    pub(super) fn new(shared: Weak<AdvisoryShared>) -> Self {
        Self { shared }
    }
}

impl PushSource for AdvisoryPushSource {
    async fn listen(&self, push_sink: &PushSink) -> bool {
        let Some(shared) = self.shared.upgrade() else { return false };
        let Ok(session) = shared.session().await else { return false };
        drop(shared);
        push_sink.now_heard(Interest::Own);
        tokio::select! {
            () = self.hear(&session, push_sink) => {}
            () = holder_wait::watch(&self.shared, push_sink) => {}
        }
        // Whatever the session held is lost, and whoever trusts in it must hear of it now.
        push_sink.deafened();
        push_sink.tell(Interest::Own, Hint::anywhere());
        true
    }
}

impl AdvisoryPushSource {
    /// Runs until the session ends, or no watcher is left.
    async fn hear(&self, session: &Arc<LockSession>, push_sink: &PushSink) {
        let mut wanted = push_sink.wanted();
        let mut told = Vec::new();
        let mut broadcasts = ChannelSubscriptions::default();
        let mut missed = VanishedLeaders::default();
        loop {
            let now_wanted = *wanted.borrow_and_update();
            for interest in [Interest::All, Interest::Messages] {
                if now_wanted.wants(interest) && !told.contains(&interest) {
                    push_sink.now_heard(interest);
                }
            }
            told = [Interest::All, Interest::Messages].into_iter().filter(|what| now_wanted.wants(*what)).collect();
            if !update_subscriptions(session, push_sink, &mut broadcasts).await {
                return;
            }
            tokio::select! {
                heard = session.hear() => match heard {
                    Some(Arrival::Notice(from, notice)) => self.pass_on(session, push_sink, from, &notice, &mut missed),
                    Some(Arrival::Message(key)) => push_sink.tell(Interest::Messages, Hint::at(key)),
                    Some(Arrival::Broadcast(channel, payload)) => {
                        broadcasts.pass_on(&channel, &payload, push_sink.subscribers());
                    }
                    None => return,
                },
                (holder, key) = missed.next() => self.look_after(push_sink, holder, &key),
                changed = wanted.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Handles a missing announcement of a new leader while a candidate here still waits for the one that is gone.
    fn look_after(&self, push_sink: &PushSink, holder: i32, key: &ElectionKey) {
        let Some(shared) = self.shared.upgrade() else { return };
        if shared.waiters().waiting_for(holder, shared.clock.now()).contains(key) {
            push_sink.tell(Interest::Own, Hint::at(key.clone()));
        }
    }

    fn pass_on(
        &self,
        session: &LockSession,
        push_sink: &PushSink,
        from: i32,
        notice: &Notice,
        missed: &mut VanishedLeaders,
    ) {
        let Some(shared) = self.shared.upgrade() else { return };
        if let Some(key) = notice.key() {
            shared.waiters().heard_of(key);
        }
        let waits = |key, successor| shared.waiters().waits(key, successor, shared.clock.now());
        match notice {
            Notice::Freed(key, successor) => freed(&shared, push_sink, from, key, successor.as_ref()),
            Notice::Crashed(key, term) => {
                // Nobody is left who could take itself for the holder: what it left is as good as given back.
                let holder = shared.waiters().holder_under(key, *term);
                if let Some(holder) = holder {
                    freed(&shared, push_sink, holder, key, None);
                }
            }
            Notice::Led(key) => {
                missed.forget(key);
                if waits(key, None).is_some() {
                    let after = SPREAD.mul_f64(part().max(0.01));
                    push_sink.tell(Interest::Own, Hint { key: Some(key.clone()), after });
                }
                push_sink.tell(Interest::All, Hint::at(key.clone()));
            }
            Notice::Gone(holder) => {
                let keys = shared.waiters().waiting_for(*holder, shared.clock.now());
                missed.add(*holder, keys);
            }
            Notice::Unwatched(holder) => {
                let lock = shared.waiters().lock_of(*holder, shared.clock.now());
                if let Some((id, ttl)) = lock {
                    shared.awaited.add(*holder, id, ttl, SPREAD);
                }
            }
            Notice::Asked(key, ..) => {
                let id = super::super::identifier::lock_id(key);
                let is_held_here = session.held_locks().holder(id, session.now()).is_some();
                if is_held_here {
                    push_sink.tell(Interest::Own, Hint::at(key.clone()));
                }
            }
        }
    }
}

/// This server process holds a lock no more, and its client knows it.
fn freed(
    shared: &AdvisoryShared,
    push_sink: &PushSink,
    holder: i32,
    key: &ElectionKey,
    successor: Option<&CandidateId>,
) {
    if shared.waiters().given_back(key, holder) {
        push_sink.tell(Interest::Own, Hint::at(key.clone()));
    }
    let waits = shared.waiters().waits(key, successor, shared.clock.now());
    if let Some(is_first) = waits {
        let is_others = shared.waiters().was_watched(key) && !shared.awaited.is_waiting_for(holder);
        let after = match (is_first, successor) {
            (false, _) => RESERVATION,
            // One of all who stand by was woken by the server: it goes first, and the others see who leads.
            (true, None) if is_others => COURTESY.mul_f64(1.0 + part()),
            (true, _) => Duration::ZERO,
        };
        push_sink.tell(Interest::Own, Hint { key: Some(key.clone()), after });
    }
    push_sink.tell(Interest::All, Hint::at(key.clone()));
}

/// Elections whose leader is gone, and when to look for the next one if it has not announced itself by then.
#[derive(Default)]
struct VanishedLeaders {
    due: Vec<(tokio::time::Instant, i32, ElectionKey)>,
}

impl VanishedLeaders {
    /// Every waiter announces it; once is enough.
    fn add(&mut self, holder: i32, keys: Vec<ElectionKey>) {
        let at = tokio::time::Instant::now() + MISSED.mul_f64(1.0 + part());
        for key in keys {
            if !self.due.iter().any(|(_, known, known_key)| *known == holder && *known_key == key) {
                self.due.push((at, holder, key));
            }
        }
    }

    fn forget(&mut self, key: &ElectionKey) {
        self.due.retain(|(.., known)| known != key);
    }

    /// The next one that is due; never while there is none. Cancel safe.
    async fn next(&mut self) -> (i32, ElectionKey) {
        let Some(place) = (0..self.due.len()).min_by_key(|place| self.due[*place].0) else {
            return std::future::pending().await;
        };
        tokio::time::sleep_until(self.due[place].0).await;
        let (_, holder, key) = self.due.swap_remove(place);
        (holder, key)
    }
}

/// A random number from 0 to 1.
pub(super) fn part() -> f64 {
    f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX)
}

/// Listens to exactly the broadcasts that have listeners. Returns whether the session can still be used.
async fn update_subscriptions(
    session: &LockSession,
    push_sink: &PushSink,
    broadcasts: &mut ChannelSubscriptions,
) -> bool {
    while let Some(change) = broadcasts.change(PLACE, push_sink.subscribers()) {
        let made = tokio::time::timeout(ANSWER_TIMEOUT, session.run(&change.sql)).await;
        if !matches!(made, Ok(Ok(()))) {
            return false;
        }
        broadcasts.changed(change, push_sink.subscribers());
    }
    true
}
