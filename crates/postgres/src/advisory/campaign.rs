//! Campaigns: answered from memory if possible; all others are tried in one statement.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_store::{Campaign, CampaignReply, Held, Replies};

use super::super::error::PostgresStoreError;
use super::expiry::tidy;
use super::held_locks::{ElectionLock, HeldLock};
use super::holder_wait::{MAX_WAITERS, PAUSE};
use super::label;
use super::locks::{self, LockSight};
use super::notice::{Notice, notify};
use super::session::LockSession;
use super::shared::AdvisoryShared;

/// How many locks a statement tries: many at once would hold up the renewals behind it.
const AT_ONCE: usize = 500;

/// The server's answers about a batch.
struct Findings {
    sights: HashMap<i64, Result<LockSight, PostgresStoreError>>,
    /// Whether the session has shown that it is alive, for candidates that already hold their lock.
    is_alive: Result<(), PostgresStoreError>,
}

/// Runs to the end even if the caller stops waiting: otherwise a lock could be held without an owner.
pub(super) async fn campaign(
    shared: Arc<AdvisoryShared>,
    session: Arc<LockSession>,
    batch: Vec<Campaign>,
) -> Replies<CampaignReply> {
    let _turn = session.turn.lock().await;
    let findings = match tidy(&session).await {
        Ok(()) => find(&session, &batch).await,
        Err(fault) => Findings { sights: HashMap::new(), is_alive: Err(fault) },
    };
    for (holder, key) in session.take_freed() {
        shared.waiters().given_back(&key, holder);
    }
    let mut led = Vec::new();
    let reply = |request: &Campaign| decide(&shared, &session, request, &findings, &mut led);
    let replies: Vec<Result<CampaignReply, PostgresStoreError>> = batch.iter().map(reply).collect();
    session.changed.notify_one();
    if !led.is_empty() {
        let session = Arc::clone(&session);
        tokio::spawn(async move { notify(&session, &led).await });
    }
    replies.into_iter().map(|reply| reply.map_err(|fault| shared.tell(fault))).collect()
}

/// Tries each lock that nobody here holds, once. The server would give it to this session a second time, and count it
/// twice.
async fn find(session: &LockSession, batch: &[Campaign]) -> Findings {
    let now = session.now();
    let (mut locks, mut ttl, mut label) = (Vec::new(), Duration::ZERO, None);
    let mut finds_again = None;
    for request in batch {
        let lock = ElectionLock::of(&request.key);
        match session.held_locks().holder(lock.id, now) {
            Some(hold) if hold.nonce == request.nonce => finds_again = finds_again.max(Some(request.ttl)),
            Some(_) => {}
            None => {
                locks.push(lock);
                ttl = ttl.max(request.ttl);
                label = Some(label::encode(&request.candidate));
            }
        }
    }
    locks.sort_unstable_by_key(|lock| lock.id);
    locks.dedup();
    let mut sights = HashMap::new();
    for chunk in locks.chunks(AT_ONCE) {
        let label = label.as_deref().unwrap_or_default();
        match locks::take(session, chunk, label, ttl).await {
            Ok(seen) => {
                note(session, batch, &seen);
                sights.extend(seen.into_iter().map(|(id, sight)| (id, Ok(sight))));
            }
            Err(fault) => {
                sights.extend(chunk.iter().map(|lock| (lock.id, Err(fault.clone()))));
                // Locks that were taken before the statement failed are nobody's.
                let _ = tidy(session).await;
            }
        }
    }
    let is_alive = match finds_again {
        Some(ttl) => locks::beat(session, Some(ttl)).await.map(drop),
        None => Ok(()),
    };
    Findings { sights, is_alive }
}

/// Assigns each lock that was taken to the first candidate that asked for it.
fn note(session: &LockSession, batch: &[Campaign], seen: &HashMap<i64, LockSight>) {
    let now = session.now();
    let mut held_locks = session.held_locks();
    for request in batch {
        let id = ElectionLock::of(&request.key).id;
        if let (Some(LockSight::Taken(term)), None) = (seen.get(&id), held_locks.holder(id, now)) {
            held_locks.add(HeldLock::new(request, *term, now));
        }
    }
}

fn decide(
    shared: &AdvisoryShared,
    session: &LockSession,
    request: &Campaign,
    findings: &Findings,
    led: &mut Vec<Notice>,
) -> Result<CampaignReply, PostgresStoreError> {
    let (lock, now) = (ElectionLock::of(&request.key), session.now());
    let sight = findings.sights.get(&lock.id).cloned().transpose()?;
    let mut held_locks = session.held_locks();
    if let Some(hold) = held_locks.holder(lock.id, now).cloned() {
        if hold.nonce != request.nonce {
            return Ok(CampaignReply::Held(shared.waiters().kept_out_by_own(request, hold.leader, now)));
        }
        let term = hold.leader.term;
        let is_new = matches!(sight, Some(LockSight::Taken(_)));
        if !is_new {
            findings.is_alive.clone()?;
            held_locks.prolong(lock.id, request.nonce, request.ttl, now);
        }
        if let Some(remaining) = shared.waiters().holds_back(&request.key, is_new, now) {
            // It is kept, and found again by its nonce when it may be used.
            return Ok(CampaignReply::Held(Held { leader: None, remaining, rank: 0 }));
        }
        if shared.waiters().last_term(&request.key) != Some(term) {
            led.push(Notice::Led(request.key.clone()));
        }
        shared.waiters().granted(&request.key, request.nonce, term);
        return Ok(CampaignReply::Granted { term });
    }
    let mut waiters = shared.waiters();
    match sight {
        Some(LockSight::Held(holder)) => {
            let held = waiters.kept_out(request, Some(&holder), now);
            if holder.waiters < MAX_WAITERS && !request.stand_by_for.is_zero() {
                shared.awaited.add(holder.pid, lock.id, request.ttl, PAUSE);
            }
            Ok(CampaignReply::Held(held))
        }
        Some(LockSight::Vacant | LockSight::Taken(_)) => Ok(CampaignReply::Held(waiters.kept_out(request, None, now))),
        None => {
            findings.is_alive.clone()?;
            Ok(CampaignReply::Held(waiters.kept_out(request, None, now)))
        }
    }
}
