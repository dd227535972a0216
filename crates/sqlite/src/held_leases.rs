//! The leases and terms that candidates of this store rely on: they count when the files are lost.

use std::collections::HashMap;
use std::time::Duration;

use tenure_store::{
    Campaign, CampaignReply, CandidateId, ElectionKey, Instant, Nonce, Renew, RenewReply, Replies, Resign, Term,
};

use super::db_thread::DbThread;

/// Leases that candidates of this store were told they hold.
#[derive(Debug, Default)]
pub(super) struct HeldLeases {
    leases: HashMap<Nonce, HeldLease>,
    highest_term: Option<Term>,
    longest_ttl: Duration,
    sweep_at: usize,
}

#[derive(Debug)]
struct HeldLease {
    key: ElectionKey,
    candidate: Option<CandidateId>,
    until: Instant,
}

/// Below this many leases, expired ones are not swept.
const MIN_SWEEP: usize = 64;

impl HeldLeases {
    /// Whether trust in all leases of the files is over.
    pub(super) fn is_clear(&mut self, now: Instant) -> bool {
        self.leases.retain(|_, lease| lease.until > now);
        self.leases.is_empty()
    }

    pub(super) fn highest_term(&self) -> Option<Term> {
        self.highest_term
    }

    /// The longest ttl that was requested.
    pub(super) fn longest_ttl(&self) -> Duration {
        self.longest_ttl
    }

    /// Whether this is the longest ttl so far.
    fn ask(&mut self, ttl: Option<Duration>) -> bool {
        let is_longest = ttl > Some(self.longest_ttl);
        self.longest_ttl = self.longest_ttl.max(ttl.unwrap_or_default());
        is_longest
    }

    /// A candidate campaigns under a new nonce only when everything it did under the last one has ended.
    fn stand_anew(&mut self, request: &Campaign) {
        self.leases.retain(|nonce, lease| {
            *nonce == request.nonce
                || lease.key != request.key
                || lease.candidate.as_ref().is_none_or(|candidate| *candidate != request.candidate)
        });
    }

    fn hold(&mut self, nonce: Nonce, key: &ElectionKey, candidate: Option<&CandidateId>, until: Instant) {
        match self.leases.get_mut(&nonce) {
            Some(lease) => lease.until = lease.until.max(until),
            None => {
                self.leases.insert(nonce, HeldLease { key: key.clone(), candidate: candidate.cloned(), until });
            }
        }
    }

    fn sweep(&mut self, now: Instant) {
        if self.leases.len() >= self.sweep_at.max(MIN_SWEEP) {
            self.leases.retain(|_, lease| lease.until > now);
            self.sweep_at = self.leases.len() * 2;
        }
    }

    fn saw(&mut self, term: Option<Term>) {
        self.highest_term = self.highest_term.max(term);
    }
}

impl DbThread {
    pub(super) fn stand(&mut self, batch: &[Campaign]) -> Replies<CampaignReply> {
        self.held_leases_mut().ask(batch.iter().map(|request| request.ttl).max());
        if self.is_adrift() {
            batch.iter().for_each(|request| self.held_leases_mut().stand_anew(request));
        }
        let replies = self.campaign(batch);
        let now = self.clock().now();
        let held_leases = self.held_leases_mut();
        for (request, reply) in batch.iter().zip(&replies) {
            match reply {
                Ok(CampaignReply::Granted { term }) => {
                    held_leases.saw(Some(*term));
                    held_leases.hold(request.nonce, &request.key, Some(&request.candidate), now + request.ttl);
                }
                Ok(CampaignReply::Held(held)) => held_leases.saw(held.leader.as_ref().map(|leader| leader.term)),
                Err(_) => {}
            }
        }
        held_leases.sweep(now);
        replies
    }

    pub(super) fn keep(&mut self, batch: &[Renew]) -> Replies<RenewReply> {
        if self.held_leases_mut().ask(batch.iter().map(|request| request.ttl).max())
            && let Err(fault) = self.pledge()
        {
            return self.replies(batch, Err(fault.about(self.path())));
        }
        let replies = self.renew(batch);
        let now = self.clock().now();
        let held_leases = self.held_leases_mut();
        for (request, reply) in batch.iter().zip(&replies) {
            match reply {
                Ok(RenewReply::Renewed { .. }) => {
                    held_leases.saw(Some(request.term));
                    held_leases.hold(request.nonce, &request.key, None, now + request.ttl);
                }
                Ok(RenewReply::NotHolder { current }) => {
                    held_leases.saw(*current);
                    held_leases.leases.remove(&request.nonce);
                }
                Err(_) => {}
            }
        }
        held_leases.sweep(now);
        replies
    }

    pub(super) fn let_go(&mut self, batch: &[Resign]) -> Replies<()> {
        for request in batch {
            self.held_leases_mut().leases.remove(&request.nonce);
        }
        self.resign(batch)
    }
}
