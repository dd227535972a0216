//! What all requests of a handle share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{CandidateId, Handover};
use tenure_store::clock::Clock;
use tenure_store::{ElectionKey, Lease, Observation, StoreError};

use super::super::config::PostgresConfig;
use super::super::endpoint::Endpoint;
use super::super::error::Fault;
use super::book::{Book, Lock};
use super::dial::{Dial, Node};
use super::locks::{self, Sight};
use super::notice::{Notice, notify};
use super::session::LockSession;
use super::standing::Standing;
use super::watchman::Posts;

/// One handle: the session, and what is remembered beside it.
pub(super) struct Office {
    pub(super) endpoint: Endpoint,
    pub(super) clock: Clock,
    node: Node,
    /// The session that was used last.
    current: Mutex<Option<Arc<LockSession>>>,
    standing: Mutex<Standing>,
    pub(super) posts: Posts,
}

impl Office {
    pub(super) fn new(config: &PostgresConfig, clock: Clock) -> Self {
        let endpoint = config.endpoint();
        let node = Node::new(Dial::new(endpoint.clone(), clock.clone()));
        Self { endpoint, clock, node, current: Mutex::default(), standing: Mutex::default(), posts: Posts::default() }
    }

    /// The session; a new one if there is none.
    pub(super) async fn session(&self) -> Result<Arc<LockSession>, Fault> {
        let link = self.node.link().await?;
        let session = Arc::clone(link.connection());
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&session));
        Ok(session)
    }

    /// The session, if there is one that lives.
    pub(super) fn living_session(&self) -> Option<Arc<LockSession>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|session| !session.is_over()).map(Arc::clone)
    }

    pub(super) fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, fault: Fault) -> StoreError {
        fault.about(self.endpoint.place())
    }

    /// Looks at elections without taking part.
    pub(super) async fn observe(&self, batch: &[ElectionKey]) -> Result<Vec<Observation>, Fault> {
        let session = self.session().await?;
        let locks: Vec<Lock> = batch.iter().map(Lock::of).collect();
        let sights = locks::look(&session, &locks).await?;
        let now = session.now();
        let (book, mut standing) = (session.book(), self.standing());
        let observe = |(key, lock): (&ElectionKey, &Lock)| {
            let lease = match sights.get(&lock.id) {
                Some(Sight::Held(holder)) if holder.pid == session.facts().pid => own_lease(&book, *lock, now),
                // How long it runs is for its holder to know.
                Some(Sight::Held(holder)) => standing.leader(key, holder).map(|leader| Lease {
                    leader,
                    term: holder.term,
                    remaining: None,
                    ttl: None,
                }),
                Some(Sight::Taken(_) | Sight::Vacant) | None => None,
            };
            Observation { lease, last_term: standing.last_term(key), reserved_for: None, standing_by: Vec::new() }
        };
        Ok(batch.iter().zip(&locks).map(observe).collect())
    }

    /// Asks whoever leads to hand over. A holder that is none of ours cannot be asked, and that is told.
    pub(super) async fn request_handover(
        &self,
        key: &ElectionKey,
        successor: Option<&CandidateId>,
    ) -> Result<bool, Fault> {
        let session = self.session().await?;
        let lock = Lock::of(key);
        let sights = locks::look(&session, &[lock]).await?;
        let Some(Sight::Held(holder)) = sights.get(&lock.id) else { return Ok(false) };
        let is_own = holder.pid == session.facts().pid;
        let own = || session.book().holder(lock.id, session.now()).map(|hold| hold.leader.term);
        let term = match (is_own, holder.term) {
            (true, _) => own(),
            (false, Some(term)) => Some(term),
            (false, None) => return Err(Fault::Foreign),
        };
        let Some(term) = term else { return Ok(false) };
        let handover = Handover { successor: successor.cloned() };
        if is_own {
            session.book().ask(lock.id, term, handover.clone(), session.now());
        }
        let asked = notify(&session, &[Notice::Asked(key.clone(), term, handover)]).await;
        Ok(asked)
    }
}

fn own_lease(book: &Book, lock: Lock, now: tenure_core::Instant) -> Option<Lease> {
    let hold = book.holder(lock.id, now)?;
    let remaining = Some(hold.lapses_at.saturating_since(now));
    Some(Lease { leader: hold.leader.clone(), term: Some(hold.leader.term), remaining, ttl: Some(hold.ttl) })
}
