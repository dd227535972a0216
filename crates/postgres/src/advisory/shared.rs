//! The state shared by all requests of a handle.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_store::clock::Clock;
use tenure_store::{CandidateId, ElectionKey, Handover, Lease, Observation, StoreError};

use super::super::config::PostgresConfig;
use super::super::endpoint::Endpoint;
use super::super::error::PostgresStoreError;
use super::connector::{AdvisoryConnector, LockSessionConnection};
use super::held_locks::{ElectionLock, HeldLocks};
use super::holder_wait::WaitQueue;
use super::locks::{self, LockSight};
use super::notice::{Notice, notify};
use super::session::LockSession;
use super::waiters::Waiters;

/// One handle: the session, and the state remembered beside it.
pub(super) struct AdvisoryShared {
    pub(super) endpoint: Endpoint,
    pub(super) clock: Clock,
    node: LockSessionConnection,
    /// The session that was used last.
    current: Mutex<Option<Arc<LockSession>>>,
    waiters: Mutex<Waiters>,
    pub(super) awaited: WaitQueue,
}

impl AdvisoryShared {
    pub(super) fn new(config: &PostgresConfig, clock: Clock) -> Self {
        let endpoint = config.endpoint();
        let node = LockSessionConnection::new(AdvisoryConnector::new(endpoint.clone(), clock.clone()));
        Self {
            endpoint,
            clock,
            node,
            current: Mutex::default(),
            waiters: Mutex::default(),
            awaited: WaitQueue::default(),
        }
    }

    /// The session; a new one if there is none.
    pub(super) async fn session(&self) -> Result<Arc<LockSession>, PostgresStoreError> {
        let link = self.node.link().await?;
        let session = Arc::clone(link.connection());
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&session));
        Ok(session)
    }

    /// The session, if there is a live one.
    pub(super) fn living_session(&self) -> Option<Arc<LockSession>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|session| !session.is_over()).map(Arc::clone)
    }

    pub(super) fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, fault: PostgresStoreError) -> StoreError {
        fault.about(self.endpoint.place())
    }

    /// Observes elections without taking part.
    pub(super) async fn observe(&self, batch: &[ElectionKey]) -> Result<Vec<Observation>, PostgresStoreError> {
        let session = self.session().await?;
        let locks: Vec<ElectionLock> = batch.iter().map(ElectionLock::of).collect();
        let sights = locks::look(&session, &locks).await?;
        let now = session.now();
        let (held_locks, mut waiters) = (session.held_locks(), self.waiters());
        let observe = |(key, lock): (&ElectionKey, &ElectionLock)| {
            let lease = match sights.get(&lock.id) {
                Some(LockSight::Held(holder)) if holder.pid == session.facts().pid => {
                    own_lease(&held_locks, *lock, now)
                }
                // How long it runs is for its holder to know.
                Some(LockSight::Held(holder)) => waiters.leader(key, holder).map(|leader| Lease {
                    leader,
                    term: holder.term,
                    remaining: None,
                    ttl: None,
                }),
                Some(LockSight::Taken(_) | LockSight::Vacant) | None => None,
            };
            Observation { lease, last_term: waiters.last_term(key), reserved_for: None, standing_by: Vec::new() }
        };
        Ok(batch.iter().zip(&locks).map(observe).collect())
    }

    /// Asks the leader to hand over. A foreign holder cannot be asked, and that is reported.
    pub(super) async fn request_handover(
        &self,
        key: &ElectionKey,
        successor: Option<&CandidateId>,
    ) -> Result<bool, PostgresStoreError> {
        let session = self.session().await?;
        let lock = ElectionLock::of(key);
        let sights = locks::look(&session, &[lock]).await?;
        let Some(LockSight::Held(holder)) = sights.get(&lock.id) else { return Ok(false) };
        let is_own = holder.pid == session.facts().pid;
        let own = || session.held_locks().holder(lock.id, session.now()).map(|hold| hold.leader.term);
        let term = match (is_own, holder.term) {
            (true, _) => own(),
            (false, Some(term)) => Some(term),
            (false, None) => return Err(PostgresStoreError::Foreign),
        };
        let Some(term) = term else { return Ok(false) };
        let handover = Handover { successor: successor.cloned() };
        if is_own {
            session.held_locks().ask(lock.id, term, handover.clone(), session.now());
        }
        let asked = notify(&session, &[Notice::Asked(key.clone(), term, handover)]).await;
        Ok(asked)
    }
}

fn own_lease(held_locks: &HeldLocks, lock: ElectionLock, now: tenure_store::Instant) -> Option<Lease> {
    let hold = held_locks.holder(lock.id, now)?;
    let remaining = Some(hold.lapses_at.saturating_since(now));
    Some(Lease { leader: hold.leader.clone(), term: Some(hold.leader.term), remaining, ttl: Some(hold.ttl) })
}
