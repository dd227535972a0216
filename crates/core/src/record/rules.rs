//! The rules of one election.

use std::time::Duration;

use super::{Effects, LeaseRecord, Moment, RESERVATION, Record, Reservation, StandByRecord, Wake};
use crate::id::CandidateId;
use crate::input::{CampaignReply, Handover, Held, RenewReply};
use crate::lease::{Nonce, Term};
use crate::request::{Campaign, Lease, Observation, Renew, Resign, StandBy};

/// The successor, and one more in case it does not answer: a hand-over must not wake a herd.
const WOKEN_BY_RESIGNATION: usize = 2;

impl Record {
    /// Whether a campaign would be granted a new term now. Stores that pay for durable terms ask first.
    #[must_use]
    pub fn is_free_for(&self, request: &Campaign, at: &Moment<'_>) -> bool {
        let held = self.lease.as_ref().is_some_and(|lease| !lease.is_over(at));
        !held && self.reservation_against(request, at).is_none()
    }

    /// Takes the lease if it is free; else stands by.
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
        if let Some(remaining) = self.reservation_against(request, at) {
            let rank = self.stand_by(request, at);
            return CampaignReply::Held(Held { leader: None, remaining, rank });
        }
        match Term::after(self.last_term) {
            Some(term) => self.grant(request, term, at, effects),
            // After 2^53 grants there is nothing left to give: nobody leads rather than somebody twice.
            None => CampaignReply::Held(Held { leader: None, remaining: Duration::MAX, rank: 0 }),
        }
    }

    /// Whether this nonce holds the lease under this term now: whoever does may renew it, and be given the leader's
    /// messages.
    #[must_use]
    pub fn is_held_by(&self, nonce: Nonce, term: Term, at: &Moment<'_>) -> bool {
        let running = self.lease.as_ref().filter(|lease| at.now < lease.expires_at);
        running.is_some_and(|lease| lease.nonce == nonce && lease.leader.term == term)
    }

    /// Prolongs the lease if nonce and term match and it has not run out.
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

    /// Releases the lease if nonce and term match, ends standing by, and reserves the lease for whoever comes next.
    pub fn resign(&mut self, request: &Resign, at: &Moment<'_>, effects: &mut Effects) {
        self.standing_by.retain(|stand_by| stand_by.nonce != request.nonce);
        if self.reservation.as_ref().is_some_and(|reservation| reservation.nonce == Some(request.nonce)) {
            // The successor has left: whoever comes next need not wait for it.
            self.reservation = None;
        }
        let released = self
            .lease
            .take_if(|lease| lease.nonce == request.nonce && request.term.is_none_or(|term| term == lease.leader.term));
        let Some(lease) = released else { return };
        effects.transitions.push(lease.ended(request.reason.as_str(), at));
        self.reserve(request.successor.as_ref(), at, effects);
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
        effects.wake.push(Wake { process: lease.process, is_backup: false });
        true
    }

    /// The election as it is now.
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
        if let Some(lease) = self.lease.take() {
            let reason = if at.now < lease.expires_at { "died" } else { "expired" };
            effects.transitions.push(lease.ended(reason, at));
        }
        self.reservation = None;
        self.last_term = Some(term);
        self.standing_by.retain(|stand_by| stand_by.nonce != request.nonce && at.now < stand_by.fresh_until);
        let lease = LeaseRecord::granted(request, term, at);
        effects.transitions.push(lease.began(at));
        self.lease = Some(lease);
        CampaignReply::Granted { term }
    }

    /// How long a reservation still keeps this candidate out.
    fn reservation_against(&self, request: &Campaign, at: &Moment<'_>) -> Option<Duration> {
        let reservation = self.reservation.as_ref().filter(|reservation| at.now < reservation.until)?;
        let is_successor = match reservation.nonce {
            Some(nonce) => nonce == request.nonce,
            None => reservation.candidate == request.candidate,
        };
        (!is_successor).then(|| reservation.until.saturating_since(at.now))
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
        let earlier = self.standing_by.iter().take_while(|stand_by| stand_by.nonce != request.nonce);
        let mut before: usize = 0;
        for stand_by in earlier {
            // Behind the first two it makes no difference whether somebody is alive, and asking after hundreds does.
            let counts = before >= WOKEN_BY_RESIGNATION || !(at.is_gone)(stand_by.process);
            before += usize::from(counts);
        }
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    fn reserve(&mut self, successor: Option<&CandidateId>, at: &Moment<'_>, effects: &mut Effects) {
        self.standing_by.sort_by_key(StandByRecord::order);
        self.standing_by.retain(|stand_by| at.now < stand_by.fresh_until);
        if let Some(named) = successor
            && let Some(position) = self.standing_by.iter().position(|stand_by| stand_by.candidate == *named)
        {
            let chosen = self.standing_by.remove(position);
            self.standing_by.insert(0, chosen);
        }
        // Only those who are to be woken are asked after: a resignation must not take longer the more stand by.
        let mut alive = 0;
        self.standing_by.retain(|stand_by| {
            let stays = alive == WOKEN_BY_RESIGNATION || !(at.is_gone)(stand_by.process);
            alive += usize::from(stays && alive < WOKEN_BY_RESIGNATION);
            stays
        });
        let first = self.standing_by.first();
        let chosen = match (successor, first) {
            (Some(named), Some(first)) if first.candidate == *named => Some((named.clone(), Some(first.nonce))),
            (Some(named), _) => Some((named.clone(), None)),
            (None, Some(first)) => Some((first.candidate.clone(), Some(first.nonce))),
            (None, None) => None,
        };
        self.reservation =
            chosen.map(|(candidate, nonce)| Reservation { candidate, nonce, until: at.now + RESERVATION });
        let woken = self.standing_by.iter().take(WOKEN_BY_RESIGNATION).enumerate();
        // One that looked at once would only get in the successor's way.
        effects.wake.extend(woken.map(|(rank, next)| Wake { process: next.process, is_backup: rank > 0 }));
    }

    fn fresh<'a>(&'a self, at: &'a Moment<'_>) -> impl Iterator<Item = &'a StandByRecord> {
        self.standing_by.iter().filter(|stand_by| at.now < stand_by.fresh_until && !(at.is_gone)(stand_by.process))
    }
}
