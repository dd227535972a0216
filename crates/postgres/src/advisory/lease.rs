//! Accepts, sends and answers requests about leases.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::stream::BoxStream;
use tenure_store::clock::Clock;
use tenure_store::{
    Campaign, CampaignReply, CandidateId, ElectionKey, ElectionName, Hint, Interest, LossReason, Namespace,
    Observation, PubSubEvent, Renew, RenewReply, Replies, Resign, StoreError, StoreErrorKind,
};
use tokio::time::timeout;

use super::super::config::PostgresConfig;
use super::super::error::PostgresStoreError;
use super::super::identifier::lock_tag;
use super::campaign;
use super::expiry::tidy;
use super::held_locks::{ElectionLock, HeldLock};
use super::locks::{self, LockSight};
use super::mailbox;
use super::notice::{Notice, notify, tell_released};
use super::push::{AdvisoryPushHub, AdvisoryPushSource};
use super::session::LockSession;
use super::shared::AdvisoryShared;

/// One open store.
pub(super) struct AdvisoryInner {
    shared: Arc<AdvisoryShared>,
    push: Arc<AdvisoryPushHub>,
}

/// The number of beats between two checks that the session holds the locks it should.
const BEATS_PER_AUDIT: u32 = 16;
/// A notice that takes longer is held up by another one, and a resignation must not be.
const TOLD_WITHIN: Duration = Duration::from_secs(1);

impl AdvisoryInner {
    pub(super) fn new(config: &PostgresConfig, clock: Clock) -> Self {
        let shared = Arc::new(AdvisoryShared::new(config, clock));
        let push = Arc::new(AdvisoryPushHub::new(AdvisoryPushSource::new(Arc::downgrade(&shared))));
        Self { shared, push }
    }

    pub(super) fn shared(&self) -> &AdvisoryShared {
        &self.shared
    }

    /// Hints that messages may wait for a leader of this handle.
    pub(super) fn hint_messages(&self, key: &ElectionKey) {
        self.push.tell(Interest::Messages, Hint::at(key.clone()));
    }

    pub(super) fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        self.push.watch(interest)
    }

    pub(super) fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        self.push.listen_to(key)
    }

    pub(super) async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        if batch.is_empty() {
            return Vec::new();
        }
        let session = match self.shared.session().await {
            Ok(session) => session,
            Err(fault) => return self.spread(&fault, batch.len()),
        };
        let task = tokio::spawn(campaign::campaign(Arc::clone(&self.shared), session, batch.to_vec()));
        task.await.unwrap_or_else(|_| self.spread(&interrupted(), batch.len()))
    }

    /// The locks of a session cannot vanish while it lives, so it is enough to see that it lives.
    pub(super) async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply> {
        let Some(session) = self.shared.living_session() else { return lost(batch) };
        let now = session.now();
        let holds = |request: &Renew| {
            session.held_locks().is_held_by(ElectionLock::of(&request.key).id, request.nonce, request.term, now)
        };
        let (held, others): (Vec<&Renew>, Vec<&Renew>) = batch.iter().partition(|request| holds(request));
        if let Some(ttl) = held.iter().map(|request| request.ttl).max() {
            match locks::beat(&session, Some(ttl)).await {
                Ok(waiters) => {
                    call_for_waiters(&session, waiters);
                    self.audit_now_and_then(&session);
                }
                // Everything that it held went with it.
                Err(PostgresStoreError::Lost(_) | PostgresStoreError::Unusable(..)) if session.is_over() => {
                    return lost(batch);
                }
                Err(fault) => return self.spread(&fault, batch.len()),
            }
        }
        session.absorb();
        let locks: Vec<ElectionLock> = others.iter().map(|request| ElectionLock::of(&request.key)).collect();
        let sights = if locks.is_empty() { Ok(Default::default()) } else { locks::look(&session, &locks).await };
        let replies = batch.iter().map(|request| {
            let (lock, now) = (ElectionLock::of(&request.key), session.now());
            let mut held_locks = session.held_locks();
            if held_locks.is_held_by(lock.id, request.nonce, request.term, now) {
                held_locks.prolong(lock.id, request.nonce, request.ttl, now);
                let handover = held_locks.holder(lock.id, now).and_then(|hold| hold.handover.clone());
                return Ok(RenewReply::Renewed { handover });
            }
            let own = held_locks.holder(lock.id, now).map(|hold| hold.leader.term);
            let current = own.or_else(|| match sights.as_ref().ok()?.get(&lock.id)? {
                LockSight::Held(holder) if holder.pid != session.facts().pid => {
                    self.shared.waiters().leader(&request.key, holder).map(|leader| leader.term)
                }
                _ => None,
            });
            Ok(RenewReply::NotHolder { current })
        });
        let replies = replies.collect();
        session.changed.notify_one();
        replies
    }

    pub(super) async fn resign(&self, batch: &[Resign]) -> Replies<()> {
        for request in batch {
            self.shared.waiters().withdrawn(&request.key, request.nonce);
        }
        if batch.iter().any(|request| request.reason == LossReason::Crashed) {
            return self.announce_crashes(batch).await;
        }
        let Some(session) = self.shared.living_session() else { return vec![Ok(()); batch.len()] };
        // A lock that is not freed because nobody waits for it would be held for nobody.
        let task = tokio::spawn(resign(session, batch.to_vec()));
        match task.await.unwrap_or_else(|_| Err(interrupted())) {
            Ok(()) => vec![Ok(()); batch.len()],
            Err(fault) => self.spread(&fault, batch.len()),
        }
    }

    /// The locks of a process that died went with its session. Those who wait for them are told that nobody acts under them
    /// any more, so that they need not wait for that.
    async fn announce_crashes(&self, batch: &[Resign]) -> Replies<()> {
        let crashed = |request: &Resign| Some(Notice::Crashed(request.key.clone(), request.term?));
        let notices: Vec<Notice> = batch.iter().filter_map(crashed).collect();
        match self.shared.session().await {
            Ok(session) if notify(&session, &notices).await => vec![Ok(()); batch.len()],
            Ok(_) => self.spread(&interrupted(), batch.len()),
            Err(fault) => self.spread(&fault, batch.len()),
        }
    }

    pub(super) async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
        if batch.is_empty() {
            return Vec::new();
        }
        match self.shared.observe(batch).await {
            Ok(observations) => observations.into_iter().map(Ok).collect(),
            Err(fault) => self.spread(&fault, batch.len()),
        }
    }

    /// Elections whose locks are held now, and whose names can be known: numbers, and names this handle has heard of.
    pub(super) async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        let is_default = *namespace == Namespace::default();
        let number = |id: i64| {
            let name = ElectionName::new(id.to_string()).ok()?;
            Some(ElectionKey { namespace: Namespace::default(), name })
        };
        let list = async {
            let session = self.shared.session().await?;
            let locks = locks::all(&session, |id| number(id).map_or(0, |key| lock_tag(&key))).await?;
            let numbers = locks.iter().filter(|(_, is_number)| is_default && **is_number);
            let mut names: Vec<ElectionName> = numbers.filter_map(|(id, _)| number(*id)).map(|key| key.name).collect();
            let waiters = self.shared.waiters();
            let known = waiters.keys().filter(|key| key.namespace == *namespace);
            names.extend(known.filter(|key| locks.contains_key(&ElectionLock::of(key).id)).map(|key| key.name.clone()));
            names.sort();
            names.dedup();
            Ok(names)
        };
        list.await.map_err(|fault| self.shared.tell(fault))
    }

    pub(super) async fn request_handover(
        &self,
        key: &ElectionKey,
        successor: Option<&CandidateId>,
    ) -> Result<bool, StoreError> {
        self.shared.request_handover(key, successor).await.map_err(|fault| self.shared.tell(fault))
    }

    fn audit_now_and_then(&self, session: &Arc<LockSession>) {
        if session.beats.fetch_add(1, Ordering::Relaxed).is_multiple_of(BEATS_PER_AUDIT) {
            let session = Arc::clone(session);
            tokio::spawn(async move {
                let _turn = session.turn.lock().await;
                // If anything is wrong, the session is given up, and the next renewal says why.
                let _ = locks::audit(&session).await;
            });
        }
    }

    fn spread<T>(&self, fault: &PostgresStoreError, count: usize) -> Replies<T> {
        let error = self.shared.tell(fault.clone());
        (0..count).map(|_| Err(error.clone())).collect()
    }
}

impl Drop for AdvisoryInner {
    fn drop(&mut self) {
        // Requests that nobody waits for any more may keep it for a while.
        if let Some(session) = self.shared.living_session() {
            session.close();
        }
    }
}

/// Whoever waited for the end of this session and does so no more may be gone, or stand still: others take its place. The
/// leader is the one who sees it, because it is there as long as there is anything to wait for.
fn call_for_waiters(session: &Arc<LockSession>, waiters: i64) {
    if waiters < session.waiters.swap(waiters, Ordering::Relaxed) {
        let session = Arc::clone(session);
        tokio::spawn(async move { notify(&session, &[Notice::Unwatched(session.facts().pid)]).await });
    }
}

/// Frees the locks, and announces it in a separate statement in the same round trip.
async fn resign(session: Arc<LockSession>, batch: Vec<Resign>) -> Result<(), PostgresStoreError> {
    let turn = session.turn.lock().await;
    let (mut holds, mut notices): (Vec<HeldLock>, Vec<Notice>) = (Vec::new(), Vec::new());
    for request in batch {
        let taken = session.held_locks().take(ElectionLock::of(&request.key).id, request.nonce, request.term);
        if let Some(hold) = taken {
            holds.push(hold);
            notices.push(Notice::Freed(request.key, request.successor));
        }
    }
    let release = session.next_release();
    let mut releasing = pin!(locks::release(&session, &holds, &release));
    let mut telling = Box::pin(tell(Arc::clone(&session), notices, release.clone()));
    let mut is_told = false;
    let released = poll_fn(|context| {
        let released = releasing.as_mut().poll(context);
        // Polled once, it is on its way.
        is_told = is_told || telling.as_mut().poll(context).is_ready();
        released
    })
    .await;
    if released.is_err() {
        let _ = tidy(&session).await;
    }
    drop(turn);
    // Whoever asks after this is granted what is free: one that has seen this holder, and has not heard yet that it has given
    // the lock back, would keep it unused.
    let is_told = is_told || released.is_ok() && timeout(TOLD_WITHIN, &mut telling).await.is_ok();
    if !is_told {
        tokio::spawn(telling);
    }
    match released {
        // Whatever it held is free, since it has ended.
        Err(_) if session_is_over(&released) => Ok(()),
        released => released,
    }
}

/// Announces the freed locks, and stops listening for their leader.
async fn tell(session: Arc<LockSession>, notices: Vec<Notice>, release: String) {
    tell_released(&session, &notices, &release).await;
    let elections: Vec<ElectionKey> = notices.iter().filter_map(|notice| notice.key().cloned()).collect();
    tokio::spawn(async move { mailbox::close(&session, &elections).await });
}

/// Whether the session is over, and all its locks with it.
fn session_is_over(result: &Result<(), PostgresStoreError>) -> bool {
    matches!(result, Err(PostgresStoreError::Replaced(_)))
}

fn lost(batch: &[Renew]) -> Replies<RenewReply> {
    vec![Ok(RenewReply::NotHolder { current: None }); batch.len()]
}

fn interrupted() -> PostgresStoreError {
    PostgresStoreError::Unusable(StoreErrorKind::Unavailable, "the request was interrupted".to_owned())
}
