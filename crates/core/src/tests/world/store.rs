//! A store that keeps the contract, with a clock of its own. Its leases end as early as the contract allows.

use super::{Clock, True};
use crate::tests::*;

pub(super) struct Store {
    clock: Clock,
    ttl: Duration,
    lease: Option<Lease>,
    last_term: u64,
    handover: bool,
}

struct Lease {
    nonce: Nonce,
    term: Term,
    holder: CandidateId,
    expires: Instant,
}

impl Store {
    pub(super) fn new(clock: Clock, ttl: Duration) -> Self {
        Self { clock, ttl: ttl - Timing::QUANTUM, lease: None, last_term: 0, handover: false }
    }

    pub(super) fn serve(&mut self, now: True, candidate: &CandidateId, verb: &Verb) -> Reply {
        let now = self.clock.at(now);
        match verb {
            Verb::Campaign { nonce } => Reply::Campaign(Ok(self.campaign(now, candidate, *nonce))),
            Verb::Renew { nonce, term } => Reply::Renew(Ok(self.renew(now, *nonce, *term))),
            Verb::Resign { nonce, term, .. } => {
                let own = |lease: &mut Lease| lease.nonce == *nonce && term.is_none_or(|term| lease.term == term);
                self.lease.take_if(own);
                Reply::Resign(Ok(()))
            }
        }
    }

    pub(super) fn ask_for_handover(&mut self) {
        self.handover = true;
    }

    pub(super) fn seize(&mut self, now: True) {
        let now = self.clock.at(now);
        self.grant(now, &id("thief"), Nonce::from_bits(0));
    }

    pub(super) fn flush(&mut self) {
        self.lease = None;
        self.last_term = 0;
    }

    fn campaign(&mut self, now: Instant, candidate: &CandidateId, nonce: Nonce) -> CampaignReply {
        let until = now + self.ttl;
        match self.lease.as_mut().filter(|lease| now < lease.expires) {
            None => CampaignReply::Granted { term: self.grant(now, candidate, nonce) },
            Some(lease) if lease.nonce == nonce => {
                lease.expires = until;
                CampaignReply::Granted { term: lease.term }
            }
            Some(lease) => CampaignReply::Held(Held {
                leader: Some(leader(lease.holder.as_str(), lease.term.get())),
                remaining: lease.expires.saturating_since(now),
                rank: 0,
            }),
        }
    }

    fn grant(&mut self, now: Instant, candidate: &CandidateId, nonce: Nonce) -> Term {
        self.last_term += 1;
        self.handover = false;
        let term = term(self.last_term);
        self.lease = Some(Lease { nonce, term, holder: candidate.clone(), expires: now + self.ttl });
        term
    }

    fn renew(&mut self, now: Instant, nonce: Nonce, term: Term) -> RenewReply {
        let until = now + self.ttl;
        let own = |lease: &&mut Lease| lease.nonce == nonce && lease.term == term && now < lease.expires;
        let Some(lease) = self.lease.as_mut().filter(own) else {
            return RenewReply::NotHolder { current: Term::new(self.last_term) };
        };
        lease.expires = until;
        let handover = std::mem::take(&mut self.handover).then(|| Handover { successor: Some(id("b")) });
        RenewReply::Renewed { handover }
    }
}
