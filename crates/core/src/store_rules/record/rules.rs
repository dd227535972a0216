//! The rules of one election.

use std::time::Duration;

use super::{
    Effects, LeaseRecord, Moment, RESERVATION, Record, Reservation, StandByRecord, WATCHED_BEFORE,
    WOKEN_BY_RESIGNATION, Wake,
};
use crate::election::input::{CampaignReply, Handover, Held, RenewReply};
use crate::id::CandidateId;
use crate::lease::{Nonce, Term};
use crate::request::{Campaign, Lease, Observation, Renew, Resign, StandBy};

/// Behind so many it makes no difference whether somebody is alive, and asking after hundreds does.
const ASKED_AFTER: usize = 2;

impl Record {
    /// Whether a campaign would be granted a new term now. Stores that pay for durable terms ask first.
    #[must_use]
    pub fn is_free_for(&self, request: &Campaign, at: &Moment<'_>) -> bool {
        match self.hindrance(request, at) {
            Hindrance::Nothing => true,
            Hindrance::Death => self.is_first(request, at),
            Hindrance::Lease | Hindrance::Reservation(_) => false,
        }
    }

    /// Takes the lease if it is free; otherwise stands by.
    pub fn campaign(&mut self, request: &Campaign, at: &Moment<'_>, effects: &mut Effects) -> CampaignReply {
        if let Some(lease) = self.lease.as_mut().filter(|lease| !lease.is_over(at)) {
            if lease.nonce == request.nonce {
                lease.expires_at = at.now + request.ttl;
                lease.ttl = request.ttl;
                lease.process = at.process;
                return CampaignReply::Granted { term: lease.leader.term };
            }
            let (leader, remaining) = (lease.leader.clone(), lease.expires_at.saturating_since(at.now));
            let rank = self.stand_by(request, at);
            return CampaignReply::Held(Held { leader: Some(leader), remaining, rank });
        }
        if let Some(remaining) = self.kept_from(request, at, effects) {
            let rank = self.stand_by(request, at);
            return CampaignReply::Held(Held { leader: None, remaining, rank });
        }
        match Term::after(self.highest_taken()) {
            Some(term) => self.grant(request, term, at, effects),
            // Nobody leads rather than somebody twice. A store reports this as an error.
            None => CampaignReply::Held(Held { leader: None, remaining: Duration::MAX, rank: 0 }),
        }
    }

    /// Whether no term is left to grant. A store refuses campaigns for the free lease then, in these
    /// [words](super::TERMS_USED_UP).
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        Term::after(self.highest_taken()).is_none()
    }

    /// Whether this nonce holds the lease under this term now: its owner may renew it, and fetch the leader's
    /// messages.
    #[must_use]
    pub fn is_held_by(&self, nonce: Nonce, term: Term, at: &Moment<'_>) -> bool {
        let running = self.lease.as_ref().filter(|lease| at.now < lease.expires_at);
        running.is_some_and(|lease| lease.nonce == nonce && lease.leader.term == term)
    }

    /// Renews the lease if nonce and term match and it has not expired.
    pub fn renew(&mut self, request: &Renew, at: &Moment<'_>) -> RenewReply {
        let is_held = self.is_held_by(request.nonce, request.term, at);
        match self.lease.as_mut().filter(|_| is_held) {
            Some(lease) => {
                lease.expires_at = at.now + request.ttl;
                lease.ttl = request.ttl;
                RenewReply::Renewed { handover: lease.handover.clone() }
            }
            None => RenewReply::NotHolder { current: self.last_term },
        }
    }

    /// Releases the lease if nonce and term match, ends standing by, and reserves the lease for the next in line. A
    /// successor that leaves passes its reservation on.
    pub fn resign(&mut self, request: &Resign, at: &Moment<'_>, effects: &mut Effects) {
        self.standing_by.retain(|stand_by| stand_by.nonce != request.nonce);
        let passed_on = self.reservation.take_if(|reservation| reservation.nonce == Some(request.nonce));
        let released = self
            .lease
            .take_if(|lease| lease.nonce == request.nonce && request.term.is_none_or(|term| term == lease.leader.term));
        if let Some(lease) = released {
            effects.transitions.push(lease.ended(request.reason.as_str(), at));
            self.reserve(request.successor.as_ref(), at, effects);
        } else if passed_on.is_some_and(|reservation| at.now < reservation.until) {
            self.reserve(None, at, effects);
        }
    }

    /// Asks the leader to hand over. Returns whether there is one to ask.
    pub fn request_handover(
        &mut self,
        successor: Option<&CandidateId>,
        at: &Moment<'_>,
        effects: &mut Effects,
    ) -> bool {
        let Some(lease) = self.lease.as_mut().filter(|lease| !lease.is_over(at)) else { return false };
        lease.handover = Some(Handover { successor: successor.cloned() });
        effects.wake.push(Wake { process: lease.process, after: Duration::ZERO });
        true
    }

    /// The present state of the election.
    #[must_use]
    pub fn observe(&self, at: &Moment<'_>) -> Observation {
        let lease = self.lease.as_ref().filter(|lease| !lease.is_over(at)).map(|lease| Lease {
            leader: lease.leader.clone(),
            term: Some(lease.leader.term),
            remaining: Some(lease.expires_at.saturating_since(at.now)),
            ttl: Some(lease.ttl),
        });
        let reserved = self.reservation.as_ref().filter(|reservation| lease.is_none() && at.now < reservation.until);
        let standing_by = self.fresh(at).map(|stand_by| StandBy {
            candidate: stand_by.candidate.clone(),
            priority: stand_by.priority,
            since_unix_ms: stand_by.since_unix_ms,
        });
        Observation {
            last_term: self.last_term,
            reserved_for: reserved.map(|reservation| reservation.candidate.clone()),
            standing_by: standing_by.collect(),
            lease,
        }
    }

    fn grant(&mut self, request: &Campaign, term: Term, at: &Moment<'_>, effects: &mut Effects) -> CampaignReply {
        self.bury(at, effects);
        self.reservation = None;
        self.last_term = Some(term);
        self.standing_by.retain(|stand_by| stand_by.nonce != request.nonce && at.now < stand_by.fresh_until);
        let lease = LeaseRecord::granted(request, term, at);
        effects.transitions.push(lease.began(at));
        self.lease = Some(lease);
        CampaignReply::Granted { term }
    }

    /// What keeps a campaign of somebody else's from being granted.
    fn hindrance(&self, request: &Campaign, at: &Moment<'_>) -> Hindrance {
        match &self.lease {
            Some(lease) if !lease.is_over(at) => return Hindrance::Lease,
            // It ended before its time: its holder is dead.
            Some(lease) if at.now < lease.expires_at => return Hindrance::Death,
            Some(_) | None => {}
        }
        let Some(reservation) = self.reservation.as_ref().filter(|reservation| at.now < reservation.until) else {
            return Hindrance::Nothing;
        };
        let is_successor = match reservation.nonce {
            Some(nonce) => nonce == request.nonce,
            None => reservation.candidate == request.candidate,
        };
        let successor = self.standing_by.iter().find(|stand_by| Some(stand_by.nonce) == reservation.nonce);
        if is_successor {
            Hindrance::Nothing
        } else if successor.is_some_and(|successor| (at.is_gone)(successor.process)) {
            Hindrance::Death
        } else {
            Hindrance::Reservation(reservation.until.saturating_since(at.now))
        }
    }

    /// How long a candidate that could take the lease is kept out for the sake of somebody who comes before it. A death
    /// that nobody has noticed yet is like a resignation: whoever sees it first keeps the lease for the first in line.
    fn kept_from(&mut self, request: &Campaign, at: &Moment<'_>, effects: &mut Effects) -> Option<Duration> {
        match self.hindrance(request, at) {
            Hindrance::Reservation(remaining) => Some(remaining),
            Hindrance::Death if !self.is_first(request, at) => {
                self.bury(at, effects);
                self.reserve(None, at, effects);
                Some(RESERVATION)
            }
            Hindrance::Nothing | Hindrance::Lease | Hindrance::Death => None,
        }
    }

    /// Whether nobody who is alive stands in line before this candidate.
    fn is_first(&self, request: &Campaign, at: &Moment<'_>) -> bool {
        let own = self
            .fresh_of(request.nonce, at)
            .map_or_else(|| (std::cmp::Reverse(request.priority), at.now, request.nonce), StandByRecord::order);
        let mut earlier = self.standing_by.iter().filter(|stand_by| stand_by.order() < own);
        !earlier.any(|stand_by| at.now < stand_by.fresh_until && !(at.is_gone)(stand_by.process))
    }

    fn fresh_of(&self, nonce: Nonce, at: &Moment<'_>) -> Option<&StandByRecord> {
        self.standing_by.iter().find(|stand_by| stand_by.nonce == nonce && at.now < stand_by.fresh_until)
    }

    /// Takes away a lease that is over.
    pub(super) fn bury(&mut self, at: &Moment<'_>, effects: &mut Effects) {
        if let Some(lease) = self.lease.take() {
            let reason = if at.now < lease.expires_at { "died" } else { "expired" };
            effects.transitions.push(lease.ended(reason, at));
        }
    }

    /// Records a stand-by and returns how many come before it.
    fn stand_by(&mut self, request: &Campaign, at: &Moment<'_>) -> u32 {
        let fresh_until = at.now + request.stand_by_for;
        // Before looking for its own entry: whoever was away too long has lost its place, whether or not somebody
        // else happened to tidy up meanwhile.
        self.standing_by.retain(|stand_by| at.now < stand_by.fresh_until);
        match self.standing_by.iter_mut().find(|stand_by| stand_by.nonce == request.nonce) {
            Some(stand_by) => stand_by.fresh_until = fresh_until,
            None => self.standing_by.push(StandByRecord {
                nonce: request.nonce,
                candidate: request.candidate.clone(),
                priority: request.priority,
                since: at.now,
                since_unix_ms: at.unix_ms,
                fresh_until,
                process: at.process,
            }),
        }
        self.standing_by.sort_by_key(StandByRecord::order);
        self.drop_gone_before(request.nonce, at);
        let earlier = self.standing_by.iter().take_while(|stand_by| stand_by.nonce != request.nonce);
        let mut before: usize = 0;
        for stand_by in earlier {
            let counts = before >= ASKED_AFTER || !(at.is_gone)(stand_by.process);
            before += usize::from(counts);
        }
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    /// The dead directly before somebody leave the line, so that nobody comes across them again. One whom the lease is kept
    /// for stays, until somebody takes its place.
    fn drop_gone_before(&mut self, nonce: Nonce, at: &Moment<'_>) {
        let kept_for = self.reservation.as_ref().and_then(|reservation| reservation.nonce);
        let own = self.standing_by.iter().position(|stand_by| stand_by.nonce == nonce).unwrap_or_default();
        let mut alive = 0;
        for index in (0..own).rev() {
            let stand_by = &self.standing_by[index];
            if Some(stand_by.nonce) != kept_for && (at.is_gone)(stand_by.process) {
                self.standing_by.remove(index);
                continue;
            }
            alive += 1;
            if alive == WATCHED_BEFORE {
                break;
            }
        }
    }

    /// Keeps the lease for the named successor or else for the first in line, and wakes those first in line one after
    /// the other, in case the successor does not answer.
    fn reserve(&mut self, successor: Option<&CandidateId>, at: &Moment<'_>, effects: &mut Effects) {
        self.standing_by.sort_by_key(StandByRecord::order);
        self.standing_by.retain(|stand_by| at.now < stand_by.fresh_until);
        let absent = successor.filter(|named| !self.put_first(named, at));
        // Only those who are to be woken are asked after: a resignation must not take longer the more stand by.
        let mut alive = 0;
        self.standing_by.retain(|stand_by| {
            let stays = alive == WOKEN_BY_RESIGNATION || !(at.is_gone)(stand_by.process);
            alive += usize::from(stays && alive < WOKEN_BY_RESIGNATION);
            stays
        });
        let chosen = match (absent, self.standing_by.first()) {
            (Some(named), _) => Some((named.clone(), None)),
            (None, Some(first)) => Some((first.candidate.clone(), Some(first.nonce))),
            (None, None) => None,
        };
        self.reservation =
            chosen.map(|(candidate, nonce)| Reservation { candidate, nonce, until: at.now + RESERVATION });
        // Whoever waits for a successor that does not stand by yet is not the successor.
        let numbers = u32::from(absent.is_some())..;
        for (next, number) in self.standing_by.iter().take(WOKEN_BY_RESIGNATION).zip(numbers) {
            // Once for each process: whoever looks too early knows when to look again.
            if !effects.wake.iter().any(|wake| wake.process == next.process) {
                effects.wake.push(Wake { process: next.process, after: looks_after(number) });
            }
        }
    }

    /// Puts the stand-by of this name first. False if none has it; one that is known to be gone is dropped, and then the
    /// line decides.
    fn put_first(&mut self, named: &CandidateId, at: &Moment<'_>) -> bool {
        let mut is_known = false;
        while let Some(position) = self.standing_by.iter().position(|stand_by| stand_by.candidate == *named) {
            is_known = true;
            let chosen = self.standing_by.remove(position);
            if !(at.is_gone)(chosen.process) {
                self.standing_by.insert(0, chosen);
                break;
            }
        }
        is_known
    }

    pub(super) fn fresh<'a>(&'a self, at: &'a Moment<'_>) -> impl Iterator<Item = &'a StandByRecord> {
        self.standing_by.iter().filter(|stand_by| at.now < stand_by.fresh_until && !(at.is_gone)(stand_by.process))
    }
}

/// What keeps a campaign from being granted.
enum Hindrance {
    Nothing,
    /// Somebody else's.
    Lease,
    /// For somebody else, and how long still.
    Reservation(Duration),
    /// Whoever held the lease, or was to have it, has died: now the line decides.
    Death,
}

/// When whoever has this number in line looks after a resignation: the successor at once, the others when the
/// reservation is over, one after the other and all of them within another one.
pub(crate) fn looks_after(number: u32) -> Duration {
    match number.checked_sub(1) {
        None => Duration::ZERO,
        Some(others) => RESERVATION + RESERVATION * others / u32::try_from(WOKEN_BY_RESIGNATION).unwrap_or(u32::MAX),
    }
}
