//! The store: the real rules of its record, and the mistakes it can be made to make.

use std::time::Duration;

use tenure_core::record::{Effects, Moment, ProcessToken, Record};
use tenure_core::{
    Campaign, CampaignReply, Change, Instant, Metadata, Priority, Renew, RenewReply, Reply, Request, Resign, Verb,
};

use super::state::{Grant, Origin};
use super::world::World;
use crate::mistake::{Mistake, StoreMistake};

/// What became of a request.
pub(super) struct Served {
    pub(super) reply: Reply,
    /// A new term, if one was granted.
    pub(super) grant: Option<Grant>,
    pub(super) wake: Vec<ProcessToken>,
}

/// One request at the store: who asks, and when on its clock.
pub(super) struct Desk<'a> {
    pub(super) world: &'a World,
    pub(super) record: &'a mut Record,
    pub(super) now: Instant,
    pub(super) node: usize,
    pub(super) process: ProcessToken,
}

impl Desk<'_> {
    pub(super) fn serve(mut self, request: &Request) -> Served {
        let mut effects = Effects::default();
        let mut grant = None;
        let reply = match &request.verb {
            Verb::Campaign { nonce } => {
                let campaign = Campaign {
                    key: self.world.key.clone(),
                    candidate: self.world.ids[self.node].clone(),
                    nonce: *nonce,
                    ttl: self.ttl(),
                    priority: Priority::MAX,
                    metadata: Metadata::clone(&self.world.metadata),
                    stand_by_for: self.ttl() + self.ttl() / 2,
                };
                let reserved = self.record.reservation.as_ref().is_some_and(|kept| kept.nonce == Some(*nonce));
                let reply = self.campaign(&campaign, &mut effects);
                grant = self.granted(request, &reply, &effects, reserved);
                Reply::Campaign(Ok(reply))
            }
            Verb::Renew { nonce, term } => {
                let key = self.world.key.clone();
                let renew = Renew { key, nonce: *nonce, term: *term, ttl: self.ttl() };
                Reply::Renew(Ok(self.renew(&renew)))
            }
            Verb::Resign { nonce, term, successor, reason } => {
                let (key, successor) = (self.world.key.clone(), successor.clone());
                let resign = Resign { key, nonce: *nonce, term: *term, successor, reason: *reason };
                self.resign(resign, &mut effects);
                Reply::Resign(Ok(()))
            }
        };
        Served { reply, grant, wake: effects.wake.iter().map(|wake| wake.process).collect() }
    }

    fn granted(&self, request: &Request, reply: &CampaignReply, effects: &Effects, reserved: bool) -> Option<Grant> {
        let CampaignReply::Granted { term } = *reply else { return None };
        effects.transitions.iter().find(|transition| transition.change == Change::Elected)?;
        let mine = &self.world.ids[self.node];
        let mut ended = effects.transitions.iter().filter(|transition| transition.change == Change::Lost);
        let origin = if ended.any(|transition| transition.candidate != *mine) {
            Origin::Expired
        } else if reserved {
            Origin::Reserved
        } else {
            Origin::Free
        };
        Some(Grant { term, request: request.id, origin })
    }

    fn campaign(&mut self, campaign: &Campaign, effects: &mut Effects) -> CampaignReply {
        let is_over = self.record.lease.as_ref().is_none_or(|lease| lease.expires_at <= self.now);
        if self.makes(StoreMistake::ExpiringTerm) && is_over {
            self.record.last_term = None;
        }
        if self.makes(StoreMistake::LabelOwnsLease)
            && let Some(lease) = self.record.lease.as_mut()
            && lease.leader.candidate == campaign.candidate
        {
            lease.nonce = campaign.nonce;
        }
        let expired_at = self.record.lease.as_ref().map(|lease| lease.expires_at);
        let reply = self.record.campaign(campaign, &moment(self.now, self.process), effects);
        if self.makes(StoreMistake::RegrantKeepsExpiry)
            && !is_over
            && let Some((lease, expires_at)) = self.record.lease.as_mut().zip(expired_at)
        {
            lease.expires_at = expires_at;
        }
        reply
    }

    fn renew(&mut self, renew: &Renew) -> RenewReply {
        if self.makes(StoreMistake::BlindRenew)
            && let Some(lease) = self.record.lease.as_mut()
        {
            lease.nonce = renew.nonce;
            lease.leader.term = renew.term;
            lease.leader.candidate = self.world.ids[self.node].clone();
            lease.expires_at = self.now + renew.ttl;
        }
        self.record.renew(renew, &moment(self.now, self.process))
    }

    fn resign(&mut self, mut resign: Resign, effects: &mut Effects) {
        if self.makes(StoreMistake::BlindRelease)
            && let Some(lease) = &self.record.lease
        {
            resign.nonce = lease.nonce;
            resign.term = None;
        }
        self.record.resign(&resign, &moment(self.now, self.process), effects);
    }

    fn ttl(&self) -> Duration {
        self.world.timing.ttl()
    }

    fn makes(&self, mistake: StoreMistake) -> bool {
        Mistake::is_store(self.world.options.mistake, mistake)
    }
}

/// This store cannot see processes die: leases end by being released or by running out.
fn moment(now: Instant, process: ProcessToken) -> Moment<'static> {
    Moment { now, unix_ms: now.as_nanos() / 1_000_000, process, is_gone: &|_| false }
}
