//! The locks of one session, as this process remembers them. The server knows only that the session holds them, not
//! for which candidate.

use std::collections::HashMap;
use std::time::Duration;

use tenure_store::{Campaign, ElectionKey, Handover, Instant, Leader, Nonce, Term};

use super::super::identifier::{lock_id, lock_tag};

/// The lock of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ElectionLock {
    pub(super) id: i64,
    /// Marks it as one of our locks, together with the term.
    pub(super) tag: i32,
}

impl ElectionLock {
    pub(super) fn of(key: &ElectionKey) -> Self {
        Self { id: lock_id(key), tag: lock_tag(key) }
    }
}

/// One held lock.
#[derive(Debug, Clone)]
pub(super) struct HeldLock {
    pub(super) key: ElectionKey,
    pub(super) lock: ElectionLock,
    pub(super) nonce: Nonce,
    pub(super) leader: Leader,
    pub(super) ttl: Duration,
    /// From then on it is not used, and is given back.
    pub(super) lapses_at: Instant,
    /// The pending request to hand over.
    pub(super) handover: Option<Handover>,
}

impl HeldLock {
    pub(super) fn new(request: &Campaign, term: Term, now: Instant) -> Self {
        let leader = Leader {
            candidate: request.candidate.clone(),
            term,
            since_unix_ms: Some(tenure_store::clock::unix_ms()),
            metadata: std::sync::Arc::clone(&request.metadata),
        };
        Self {
            key: request.key.clone(),
            lock: ElectionLock::of(&request.key),
            nonce: request.nonce,
            leader,
            ttl: request.ttl,
            lapses_at: now + request.ttl,
            handover: None,
        }
    }
}

/// All locks that a session holds, by number.
#[derive(Debug, Default)]
pub(super) struct HeldLocks {
    holds: HashMap<i64, HeldLock>,
}

impl HeldLocks {
    pub(super) fn add(&mut self, hold: HeldLock) {
        self.holds.insert(hold.lock.id, hold);
    }

    /// The holder of this lock in this process, unless it has lapsed.
    pub(super) fn holder(&self, id: i64, now: Instant) -> Option<&HeldLock> {
        self.holds.get(&id).filter(|hold| now < hold.lapses_at)
    }

    /// Whether this very candidate holds it, under this term.
    pub(super) fn is_held_by(&self, id: i64, nonce: Nonce, term: Term, now: Instant) -> bool {
        self.holder(id, now).is_some_and(|hold| hold.nonce == nonce && hold.leader.term == term)
    }

    /// Extends it by a ttl from now. Returns whether there was anything to extend.
    pub(super) fn prolong(&mut self, id: i64, nonce: Nonce, ttl: Duration, now: Instant) -> bool {
        let hold = self.holds.get_mut(&id).filter(|hold| hold.nonce == nonce && now < hold.lapses_at);
        let Some(hold) = hold else { return false };
        hold.ttl = ttl;
        hold.lapses_at = now + ttl;
        true
    }

    /// Requests a hand-over from the leader of this term, which may no longer lead.
    pub(super) fn ask(&mut self, id: i64, term: Term, handover: Handover, now: Instant) {
        let hold = self.holds.get_mut(&id).filter(|hold| hold.leader.term == term && now < hold.lapses_at);
        if let Some(hold) = hold {
            hold.handover = Some(handover);
        }
    }

    pub(super) fn take(&mut self, id: i64, nonce: Nonce, term: Option<Term>) -> Option<HeldLock> {
        let hold = self.holds.get(&id)?;
        let is_meant = hold.nonce == nonce && term.is_none_or(|term| term == hold.leader.term);
        if is_meant { self.holds.remove(&id) } else { None }
    }

    /// Removes and returns the lapsed ones.
    pub(super) fn take_lapsed(&mut self, now: Instant) -> Vec<HeldLock> {
        self.holds.extract_if(|_, hold| hold.lapses_at <= now).map(|(_, hold)| hold).collect()
    }

    /// When the next one lapses.
    pub(super) fn next_lapse(&self) -> Option<Instant> {
        self.holds.values().map(|hold| hold.lapses_at).min()
    }

    /// Whether a leader may still trust a lock that this session holds.
    pub(super) fn is_trusted(&self, now: Instant) -> bool {
        self.holds.values().any(|hold| now < hold.lapses_at)
    }

    pub(super) fn max_ttl(&self) -> Option<Duration> {
        self.holds.values().map(|hold| hold.ttl).max()
    }

    /// The elections led by this process, each with its term.
    pub(super) fn led(&self, now: Instant) -> Vec<(ElectionKey, Term)> {
        let led = self.holds.values().filter(|hold| now < hold.lapses_at);
        led.map(|hold| (hold.key.clone(), hold.leader.term)).collect()
    }

    pub(super) fn holds(&self) -> impl Iterator<Item = &HeldLock> {
        self.holds.values()
    }
}
