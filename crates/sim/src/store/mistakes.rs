//! Stores that decide wrongly: what they do around the real rules to get a known mistake.

use tenure_core::record::{LeaseRecord, Moment};
use tenure_core::{Instant, Leader, Metadata, RenewReply, Reply, Verb};

use super::{Caller, Store};
use crate::mistake::StoreMistake;

impl Store {
    /// Bends the record so that the rules come to a wrong decision.
    pub(super) fn err_before(&mut self, caller: &Caller<'_>, verb: &Verb, at: &Moment<'_>) {
        let Some(mistake) = self.mistake else { return };
        let challenger = self.ttl(caller);
        let record = self.record_for(caller);
        let runs = record.lease.as_ref().is_some_and(|lease| at.now < lease.expires_at);
        match (mistake, verb) {
            (StoreMistake::BlindRelease, Verb::Resign { .. }) => record.lease = None,
            (StoreMistake::ExpiringTerm, Verb::Campaign { .. }) if !runs => record.last_term = None,
            (StoreMistake::LabelOwnsLease, Verb::Campaign { nonce }) => {
                if let Some(lease) = &mut record.lease
                    && lease.leader.candidate == caller.candidate.id
                {
                    lease.nonce = *nonce;
                }
            }
            (StoreMistake::ChallengersTtl, Verb::Campaign { nonce }) => {
                let rival = |lease: &mut LeaseRecord| {
                    let renewed_at = lease.expires_at - lease.ttl;
                    lease.nonce != *nonce && at.now >= renewed_at + challenger
                };
                record.lease.take_if(rival);
            }
            _ => (),
        }
    }

    /// Does what the rules refused, or leaves out what they did.
    pub(super) fn err_after(
        &mut self,
        caller: &Caller<'_>,
        verb: &Verb,
        at: &Moment<'_>,
        before: Option<LeaseRecord>,
        reply: Reply,
    ) -> Reply {
        let Some(mistake) = self.mistake else { return reply };
        let ttl = self.ttl(caller);
        let record = self.record_for(caller);
        match (mistake, verb) {
            (StoreMistake::BlindRenew, Verb::Renew { nonce, term }) => {
                let leader = Leader {
                    candidate: caller.candidate.id.clone(),
                    term: *term,
                    since_unix_ms: 0,
                    metadata: Metadata::default(),
                };
                let (expires_at, process) = (at.now + ttl, at.process);
                record.lease = Some(LeaseRecord { leader, nonce: *nonce, ttl, expires_at, process, handover: None });
                Reply::Renew(Ok(RenewReply::Renewed { handover: None }))
            }
            (StoreMistake::ExpiryForgotten, Verb::Campaign { nonce }) => {
                // Now and then a client dies between the two steps, or its connection does.
                let lease = record.lease.as_mut().filter(|lease| lease.nonce == *nonce && nonce.to_bits() % 4 == 0);
                if let Some(lease) = lease {
                    lease.expires_at = Instant::FAR_FUTURE;
                }
                reply
            }
            (StoreMistake::RegrantKeepsExpiry, Verb::Campaign { nonce }) => {
                let again = before.filter(|before| before.nonce == *nonce && at.now < before.expires_at);
                if let (Some(before), Some(lease)) = (again, &mut record.lease) {
                    lease.expires_at = before.expires_at;
                }
                reply
            }
            _ => reply,
        }
    }
}
