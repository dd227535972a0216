//! A handle's memory of its elections: the candidates that wait here, for which holder, and the terms seen.

use std::collections::HashMap;
use std::time::Duration;

use tenure_store::{Campaign, CandidateId, ElectionKey, Held, Instant, Leader, Nonce, Term};

use super::held_locks::ElectionLock;
use super::label;
use super::locks::LockHolder;

/// All elections of a handle.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    elections: HashMap<i64, ElectionWaiters>,
}

#[derive(Debug)]
struct ElectionWaiters {
    key: ElectionKey,
    waiting: Vec<Waiter>,
    /// The server process that holds the lock.
    holder: Option<LastHolder>,
    /// Whether another process waits for its end, and is woken first.
    is_watched: bool,
    /// The highest term ever seen here.
    last_term: Option<Term>,
    /// A foreign holder, and the term it is shown with.
    foreigner: Option<(i32, Term)>,
    /// Until when a lock is kept unused that this server process held and did not give back: its client may not know yet that
    /// it has lost it.
    unused: Option<(LastHolder, Instant)>,
    /// The number of attempts in a row in which the lock was neither available nor held.
    blocked: u32,
}

/// A server process that was seen to hold a lock, and the term it held it under, if it had drawn one.
#[derive(Debug, Clone, Copy)]
struct LastHolder {
    pid: i32,
    term: Option<Term>,
}

#[derive(Debug)]
struct Waiter {
    nonce: Nonce,
    candidate: CandidateId,
    ttl: Duration,
    fresh_until: Instant,
}

/// Another waiter may have the lock for the blink of an eye. Each failed attempt waits longer.
const BLINK: Duration = Duration::from_millis(2);
const MAX_BLINKS: u32 = 10;
/// How long a leader may take to learn that the server has ended its session, and to end its work. Work that is a process is
/// ended by its guard within this.
const TAKE_OVER_DELAY: Duration = Duration::from_millis(250);
/// The longest wait before looking again, however long the ttl is.
const LONGEST: Duration = Duration::from_secs(3_600);

impl Waiters {
    /// Records that a candidate is kept out, by this holder or by one that cannot lead. Returns the reply to it.
    pub(super) fn kept_out(&mut self, request: &Campaign, holder: Option<&LockHolder>, now: Instant) -> Held {
        let election = self.election(&request.key);
        election.wait(request, now);
        election.holder = holder.map(|holder| LastHolder { pid: holder.pid, term: holder.term });
        election.is_watched = holder.is_some_and(|holder| holder.waiters > 0);
        let leader = holder.and_then(|holder| election.leader(holder));
        election.blocked = if holder.is_some() { 0 } else { election.blocked.saturating_add(1) };
        let is_blink = (1..=MAX_BLINKS).contains(&election.blocked);
        let remaining = if is_blink { BLINK * election.blocked } else { poll_interval(request.ttl) };
        Held { leader, remaining, rank: 0 }
    }

    /// The same if the holder is another candidate of this handle.
    pub(super) fn kept_out_by_own(&mut self, request: &Campaign, leader: Leader, now: Instant) -> Held {
        let election = self.election(&request.key);
        election.wait(request, now);
        election.holder = None;
        Held { leader: Some(leader), remaining: poll_interval(request.ttl), rank: 0 }
    }

    /// How long a lock that was just taken must still not be used. It need not wait if its last holder gave it back, or if
    /// nobody was seen to hold it.
    pub(super) fn holds_back(&mut self, key: &ElectionKey, is_new: bool, now: Instant) -> Option<Duration> {
        let election = self.election(key);
        if is_new {
            election.unused = election.holder.take().map(|holder| (holder, now + TAKE_OVER_DELAY));
        }
        let (_, until) = election.unused?;
        let left = until.saturating_since(now);
        if left.is_zero() {
            election.unused = None;
        }
        Some(left).filter(|left| !left.is_zero())
    }

    /// Records that this server process has given it back. Returns whether a candidate here waited for that.
    pub(super) fn given_back(&mut self, key: &ElectionKey, holder: i32) -> bool {
        let election = self.election(key);
        election.holder.take_if(|known| known.pid == holder);
        election.unused.take_if(|(known, _)| known.pid == holder).is_some()
    }

    /// The server process that was last seen to hold the lock, if that was under this term.
    pub(super) fn holder_under(&mut self, key: &ElectionKey, term: Term) -> Option<i32> {
        let election = self.election(key);
        let seen = election.holder.into_iter().chain(election.unused.map(|(holder, _)| holder));
        seen.filter(|holder| holder.term == Some(term)).map(|holder| holder.pid).next()
    }

    pub(super) fn granted(&mut self, key: &ElectionKey, nonce: Nonce, term: Term) {
        let election = self.election(key);
        election.waiting.retain(|waiting| waiting.nonce != nonce);
        election.last_term = election.last_term.max(Some(term));
        election.foreigner = None;
        election.blocked = 0;
    }

    pub(super) fn withdrawn(&mut self, key: &ElectionKey, nonce: Nonce) {
        if let Some(election) = self.elections.get_mut(&ElectionLock::of(key).id) {
            election.waiting.retain(|waiting| waiting.nonce != nonce);
        }
    }

    /// Who leads, as far as this handle can tell. An election it has not heard of stays unheard of.
    pub(super) fn leader(&mut self, key: &ElectionKey, holder: &LockHolder) -> Option<Leader> {
        self.election(key).leader(holder)
    }

    pub(super) fn last_term(&self, key: &ElectionKey) -> Option<Term> {
        self.elections.get(&ElectionLock::of(key).id).and_then(|election| election.last_term)
    }

    /// Records the name of an election that was mentioned.
    pub(super) fn heard_of(&mut self, key: &ElectionKey) {
        self.election(key);
    }

    /// All elections whose names are known.
    pub(super) fn keys(&self) -> impl Iterator<Item = &ElectionKey> {
        self.elections.values().map(|election| &election.key)
    }

    /// Whether a candidate waits here; and whether it is the named successor, if any.
    pub(super) fn waits(&self, key: &ElectionKey, successor: Option<&CandidateId>, now: Instant) -> Option<bool> {
        let election = self.elections.get(&ElectionLock::of(key).id)?;
        let mut fresh = election.fresh(now).peekable();
        fresh.peek()?;
        Some(successor.is_none_or(|named| fresh.any(|waiting| waiting.candidate == *named)))
    }

    /// Records that another process waits for the end of this server process.
    pub(super) fn watched(&mut self, holder: i32) {
        for election in self.elections.values_mut().filter(|election| election.is_held_by(holder)) {
            election.is_watched = true;
        }
    }

    /// Whether another process waited for the end of this lock's last holder, as far as it was seen. Answered once.
    pub(super) fn was_watched(&mut self, key: &ElectionKey) -> bool {
        self.elections
            .get_mut(&ElectionLock::of(key).id)
            .is_some_and(|election| std::mem::take(&mut election.is_watched))
    }

    /// The elections in which a candidate here waits for this server process.
    pub(super) fn waiting_for(&self, holder: i32, now: Instant) -> Vec<ElectionKey> {
        let waits = |election: &&ElectionWaiters| election.is_held_by(holder) && election.fresh(now).next().is_some();
        self.elections.values().filter(waits).map(|election| election.key.clone()).collect()
    }

    /// One lock of this server process that a candidate here waits for, and the ttl of that candidate.
    pub(super) fn lock_of(&self, holder: i32, now: Instant) -> Option<(i64, Duration)> {
        let of_holder = self.elections.iter().filter(|(_, election)| election.is_held_by(holder));
        of_holder.filter_map(|(id, election)| Some((*id, election.fresh(now).next()?.ttl))).next()
    }

    fn election(&mut self, key: &ElectionKey) -> &mut ElectionWaiters {
        self.elections.entry(ElectionLock::of(key).id).or_insert_with(|| ElectionWaiters {
            key: key.clone(),
            waiting: Vec::new(),
            holder: None,
            is_watched: false,
            last_term: None,
            foreigner: None,
            unused: None,
            blocked: 0,
        })
    }
}

impl ElectionWaiters {
    fn is_held_by(&self, pid: i32) -> bool {
        self.holder.is_some_and(|holder| holder.pid == pid)
    }

    fn wait(&mut self, request: &Campaign, now: Instant) {
        self.waiting.retain(|waiting| waiting.nonce != request.nonce && now < waiting.fresh_until);
        let fresh_until = now + request.stand_by_for;
        self.waiting.push(Waiter {
            nonce: request.nonce,
            candidate: request.candidate.clone(),
            ttl: request.ttl,
            fresh_until,
        });
    }

    fn fresh(&self, now: Instant) -> impl Iterator<Item = &Waiter> {
        self.waiting.iter().filter(move |waiting| now < waiting.fresh_until)
    }

    fn leader(&mut self, holder: &LockHolder) -> Option<Leader> {
        let label = holder.label.as_deref();
        let (candidate, term) = match holder.term {
            Some(term) => {
                self.foreigner = None;
                (label.and_then(label::candidate), term)
            }
            None => (None, self.foreign_term(holder)?),
        };
        self.last_term = self.last_term.max(Some(term));
        let candidate = candidate.or_else(|| label::foreign(label, holder.pid))?;
        Some(Leader { candidate, term, since_unix_ms: None, metadata: std::sync::Arc::default() })
    }

    /// A holder that has drawn no term is shown with one below all that can be granted after it, and with the same one
    /// for as long as it holds the lock.
    fn foreign_term(&mut self, holder: &LockHolder) -> Option<Term> {
        let known = self.foreigner.filter(|(pid, term)| *pid == holder.pid && Some(*term) >= self.last_term);
        let term = match known {
            Some((_, term)) => term,
            None => holder.term_at_least.max(self.last_term)?,
        };
        self.foreigner = Some((holder.pid, term));
        Some(term)
    }
}

/// Nobody can tell when a lock will be free. Some of those who wait are woken by the server when its holder is gone, and all
/// are told when it is handed over; so they look by themselves only now and then, not all at the same time.
fn poll_interval(ttl: Duration) -> Duration {
    let spread = f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX);
    ttl.min(LONGEST).mul_f64(1.15 + 0.2 * spread)
}
