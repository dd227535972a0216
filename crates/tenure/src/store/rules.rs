//! The rules of one election as a pure function of its record, for stores that decide in this process.

use std::time::Duration;

use tenure_core::{
    CampaignReply, CandidateId, Handover, Held, Instant, Leader, Metadata, Nonce, Priority, RenewReply, Term,
};

use super::{Campaign, Change, Lease, Observation, RESERVATION, Renew, Resign, StandBy, Transition};

/// Everything a store knows of an election.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Record {
    pub(super) last_term: Option<Term>,
    pub(super) lease: Option<LeaseRecord>,
    pub(super) reservation: Option<Reservation>,
    pub(super) standing_by: Vec<StandByRecord>,
}

/// The lease, running or run out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LeaseRecord {
    pub(super) leader: Leader,
    pub(super) nonce: Nonce,
    pub(super) ttl: Duration,
    pub(super) expires_at: Instant,
    pub(super) process: ProcessToken,
    pub(super) handover: Option<Handover>,
}

/// A lease that waits for its successor. A named successor need not stand by yet, and so need not have a nonce.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reservation {
    pub(super) candidate: CandidateId,
    pub(super) nonce: Option<Nonce>,
    pub(super) until: Instant,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct StandByRecord {
    pub(super) nonce: Nonce,
    pub(super) candidate: CandidateId,
    pub(super) priority: Priority,
    pub(super) since: Instant,
    pub(super) since_unix_ms: u64,
    pub(super) fresh_until: Instant,
    pub(super) process: ProcessToken,
}

/// Names a process, or rather one store handle in it, to stores that can see processes die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct ProcessToken(pub(super) u128);

/// The store's clocks at the moment of decision, and what it can see of processes.
pub(super) struct Moment<'a> {
    pub(super) now: Instant,
    pub(super) unix_ms: u64,
    /// Who is asking.
    pub(super) process: ProcessToken,
    /// Whether a process is known to be gone. `false` when in doubt.
    pub(super) is_gone: &'a dyn Fn(ProcessToken) -> bool,
}

/// What a step did besides answering.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Effects {
    pub(super) transitions: Vec<Transition>,
    /// Whom to wake.
    pub(super) wake: Vec<Wake>,
}

/// A process to be told that something changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wake {
    pub(super) process: ProcessToken,
    /// Others go first.
    pub(super) is_backup: bool,
}

/// The successor, and one more in case it does not answer: a hand-over must not wake a herd.
const WOKEN_BY_RESIGNATION: usize = 2;

impl Record {
    /// Whether a campaign would be granted a new term now. Stores that pay for durable terms ask first.
    #[cfg(feature = "sqlite")]
    pub(super) fn is_free_for(&self, request: &Campaign, at: &Moment<'_>) -> bool {
        let held = self.lease.as_ref().is_some_and(|lease| !lease.is_over(at));
        !held && self.reservation_against(request, at).is_none()
    }

    pub(super) fn campaign(&mut self, request: &Campaign, at: &Moment<'_>, effects: &mut Effects) -> CampaignReply {
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

    pub(super) fn renew(&mut self, request: &Renew, at: &Moment<'_>) -> RenewReply {
        match self.lease.as_mut().filter(|lease| at.now < lease.expires_at) {
            Some(lease) if lease.nonce == request.nonce && lease.leader.term == request.term => {
                lease.expires_at = at.now + request.ttl;
                lease.ttl = request.ttl;
                RenewReply::Renewed { handover: lease.handover.clone() }
            }
            Some(_) | None => RenewReply::NotHolder { current: self.last_term },
        }
    }

    pub(super) fn resign(&mut self, request: &Resign, at: &Moment<'_>, effects: &mut Effects) {
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

    /// Returns whether there is a leader to ask.
    pub(super) fn request_handover(
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

    pub(super) fn observe(&self, at: &Moment<'_>) -> Observation {
        let lease = self.lease.as_ref().filter(|lease| !lease.is_over(at)).map(|lease| Lease {
            leader: lease.leader.clone(),
            remaining: lease.expires_at.saturating_since(at.now),
            ttl: lease.ttl,
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

impl LeaseRecord {
    fn granted(request: &Campaign, term: Term, at: &Moment<'_>) -> Self {
        Self {
            leader: Leader {
                candidate: request.candidate.clone(),
                term,
                since_unix_ms: at.unix_ms,
                metadata: Metadata::clone(&request.metadata),
            },
            nonce: request.nonce,
            ttl: request.ttl,
            expires_at: at.now + request.ttl,
            process: at.process,
            handover: None,
        }
    }

    /// Run out, or its holder is dead: either way nobody acts under it.
    fn is_over(&self, at: &Moment<'_>) -> bool {
        at.now >= self.expires_at || (self.process != at.process && (at.is_gone)(self.process))
    }

    fn began(&self, at: &Moment<'_>) -> Transition {
        self.transition(Change::Elected, "granted", at)
    }

    fn ended(&self, reason: &str, at: &Moment<'_>) -> Transition {
        self.transition(Change::Lost, reason, at)
    }

    fn transition(&self, change: Change, reason: &str, at: &Moment<'_>) -> Transition {
        Transition {
            at_unix_ms: at.unix_ms,
            term: self.leader.term,
            candidate: self.leader.candidate.clone(),
            change,
            reason: reason.to_owned(),
        }
    }
}

impl StandByRecord {
    /// The keenest first, then whoever has waited longest.
    fn order(&self) -> (std::cmp::Reverse<Priority>, Instant, Nonce) {
        (std::cmp::Reverse(self.priority), self.since, self.nonce)
    }
}
