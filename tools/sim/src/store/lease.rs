//! One request at a store: the real rules of its record, and the mistakes it can be made to make.

use std::time::Duration;

use tenure_core::store_rules::record::{Effects, LeaseRecord, Moment, ProcessWatch, Record};
use tenure_core::{
    Campaign, Candidate, ElectionKey, ElectionName, Instant, Leader, Metadata, Namespace, Nonce, Renew, RenewReply,
    Reply, Resign, Term, Verb,
};

use crate::mistake::StoreMistake;

/// Where a request is served.
pub(crate) struct LeaseStep<'a> {
    pub(crate) record: &'a mut Record,
    pub(crate) at: Moment<'a>,
    pub(crate) key: &'a ElectionKey,
    pub(crate) candidate: &'a Candidate,
    /// How long the store makes a lease of this candidate last.
    pub(crate) ttl: Duration,
    /// Terms are above this one, besides being above each other.
    pub(crate) terms_above: Option<Term>,
    pub(crate) mistake: Option<StoreMistake>,
}

/// The one election there is.
pub(crate) fn key() -> ElectionKey {
    let name = ElectionName::new("nightly").expect("a word is a valid name");
    ElectionKey { namespace: Namespace::default(), name }
}

impl LeaseStep<'_> {
    /// One atomic step.
    pub(crate) fn serve(&mut self, verb: &Verb) -> (Reply, Effects) {
        self.err_before(verb);
        let before = self.mistake.and_then(|_| self.record.lease.clone());
        let mut effects = Effects::default();
        let reply = match verb {
            Verb::Campaign { nonce } => {
                let request = self.campaign(*nonce);
                if self.record.is_free_for(&request, &self.at) {
                    self.record.last_term = self.record.last_term.max(self.terms_above);
                }
                Reply::Campaign(Ok(self.record.campaign(&request, &self.at, &mut effects)))
            }
            Verb::Renew { nonce, term } => {
                let request = Renew { key: self.key.clone(), nonce: *nonce, term: *term, ttl: self.ttl };
                Reply::Renew(Ok(self.record.renew(&request, &self.at)))
            }
            Verb::Resign { nonce, term, successor, reason } => {
                let (key, successor) = (self.key.clone(), successor.clone());
                let request = Resign { key, nonce: *nonce, term: *term, successor, reason: *reason };
                self.record.resign(&request, &self.at, &mut effects);
                Reply::Resign(Ok(()))
            }
        };
        if self.mistake == Some(StoreMistake::WakesTwo) {
            effects.wake.truncate(2);
        }
        (self.err_after(verb, before, reply), effects)
    }

    /// Whose end this candidate waits for.
    pub(crate) fn watches(&self, nonce: Nonce, rank: u32) -> Vec<ProcessWatch> {
        let watches = self.record.watches(nonce, rank, &self.at);
        if self.mistake != Some(StoreMistake::TwoWatch) {
            return watches;
        }
        let leader = self.record.lease.as_ref().map(|lease| lease.process);
        watches.into_iter().filter(|watch| rank < 2 && Some(watch.process) == leader).collect()
    }

    fn campaign(&self, nonce: Nonce) -> Campaign {
        let asked = self.candidate.timing.ttl();
        Campaign {
            key: self.key.clone(),
            candidate: self.candidate.id.clone(),
            nonce,
            ttl: self.ttl,
            priority: self.candidate.priority,
            metadata: Metadata::default(),
            stand_by_for: asked + asked / 2,
        }
    }

    /// Bends the record so that the rules come to a wrong decision.
    fn err_before(&mut self, verb: &Verb) {
        let now = self.at.now;
        let runs = self.record.lease.as_ref().is_some_and(|lease| now < lease.expires_at);
        match (self.mistake, verb) {
            (Some(StoreMistake::BlindRelease), Verb::Resign { .. }) => self.record.lease = None,
            (Some(StoreMistake::NothingPassedOn), Verb::Resign { nonce, .. }) => {
                self.record.reservation.take_if(|reservation| reservation.nonce == Some(*nonce));
            }
            (Some(StoreMistake::DeathIsAnyones), Verb::Campaign { .. }) => {
                let over = |lease: &&mut LeaseRecord| lease.is_over(&self.at);
                if let Some(lease) = self.record.lease.as_mut().filter(over) {
                    lease.expires_at = lease.expires_at.min(now);
                }
            }
            (Some(StoreMistake::ExpiringTerm), Verb::Campaign { .. }) if !runs => self.record.last_term = None,
            (Some(StoreMistake::LabelOwnsLease), Verb::Campaign { nonce }) => {
                let namesake = |lease: &&mut LeaseRecord| lease.leader.candidate == self.candidate.id;
                if let Some(lease) = self.record.lease.as_mut().filter(namesake) {
                    lease.nonce = *nonce;
                }
            }
            (Some(StoreMistake::ChallengersTtl), Verb::Campaign { nonce }) => {
                let rival = |lease: &mut LeaseRecord| {
                    let renewed_at = lease.expires_at - lease.ttl;
                    lease.nonce != *nonce && now >= renewed_at + self.ttl
                };
                self.record.lease.take_if(rival);
            }
            _ => (),
        }
    }

    /// Does what the rules refused, or leaves out what they did.
    fn err_after(&mut self, verb: &Verb, before: Option<LeaseRecord>, reply: Reply) -> Reply {
        let now = self.at.now;
        match (self.mistake, verb) {
            (Some(StoreMistake::BlindRenew), Verb::Renew { nonce, term }) => {
                let candidate = self.candidate.id.clone();
                let leader = Leader { candidate, term: *term, since_unix_ms: None, metadata: Metadata::default() };
                self.record.lease = Some(LeaseRecord {
                    leader,
                    nonce: *nonce,
                    ttl: self.ttl,
                    expires_at: now + self.ttl,
                    process: self.at.process,
                    handover: None,
                });
                return Reply::Renew(Ok(RenewReply::Renewed { handover: None }));
            }
            (Some(StoreMistake::ExpiryForgotten), Verb::Campaign { nonce }) => {
                // Now and then a client dies between the two steps, or its connection does.
                let forgotten = |lease: &&mut LeaseRecord| lease.nonce == *nonce && nonce.to_bits().is_multiple_of(4);
                if let Some(lease) = self.record.lease.as_mut().filter(forgotten) {
                    lease.expires_at = Instant::FAR_FUTURE;
                }
            }
            (Some(StoreMistake::RegrantKeepsExpiry), Verb::Campaign { nonce }) => {
                let again = before.filter(|before| before.nonce == *nonce && now < before.expires_at);
                if let (Some(before), Some(lease)) = (again, &mut self.record.lease) {
                    lease.expires_at = before.expires_at;
                }
            }
            _ => (),
        }
        reply
    }
}
