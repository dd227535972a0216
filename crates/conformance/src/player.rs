//! A candidate with its own handle, so that properties read like the sentences they are named after.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::{
    CampaignReply, CandidateId, ElectionName, Handover, Held, LossReason, Metadata, Namespace, Nonce, Priority,
    RenewReply, Term,
};
use tenure_store::{Campaign, ElectionKey, Observation, RESERVATION, Renew, Resign, Store};

use super::{Fixture, trial};

/// The finest time any store must tell apart.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// Longer than any property runs.
pub(super) const LONG: Duration = Duration::from_secs(120);

/// One candidate in one election. Its handle stays open as long as it lives: a store that can see processes die may
/// give the lease away when the handle is closed.
#[derive(Debug, Clone)]
pub(super) struct Player {
    pub(super) store: Arc<dyn Store>,
    pub(super) key: ElectionKey,
    pub(super) candidate: CandidateId,
    pub(super) nonce: Nonce,
    pub(super) ttl: Duration,
    pub(super) priority: Priority,
    pub(super) metadata: Metadata,
    pub(super) stand_by_for: Duration,
}

impl Player {
    /// Somebody on a new handle, in the election `nightly-report`, whose leases outlast the property.
    pub(super) async fn new(fixture: &dyn Fixture, candidate: &str) -> Self {
        Self {
            store: fixture.open().await,
            key: key("nightly-report"),
            candidate: id(candidate),
            nonce: fresh_nonce(),
            ttl: LONG,
            priority: Priority::default(),
            metadata: Metadata::default(),
            stand_by_for: LONG,
        }
    }

    /// The same with a ttl of two units, whose end can be waited for.
    pub(super) async fn brief(fixture: &dyn Fixture, candidate: &str) -> Self {
        Self::new(fixture, candidate).await.with_brief_ttl()
    }

    /// The same process in another election.
    pub(super) fn in_election(&self, key: ElectionKey) -> Self {
        Self { key, nonce: fresh_nonce(), ..self.clone() }
    }

    /// The same process in the same election, as a candidate of its own.
    pub(super) fn again(&self) -> Self {
        self.in_election(self.key.clone())
    }

    pub(super) fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    pub(super) fn with_brief_ttl(self) -> Self {
        let ttl = unit(&*self.store) * 2;
        self.with_ttl(ttl)
    }

    pub(super) fn with_priority(mut self, level: u8) -> Self {
        self.priority = Priority::new(level).expect("a priority from 0 to 10");
        self
    }

    pub(super) fn as_campaign(&self) -> Campaign {
        Campaign {
            key: self.key.clone(),
            candidate: self.candidate.clone(),
            nonce: self.nonce,
            ttl: self.ttl,
            priority: self.priority,
            metadata: Metadata::clone(&self.metadata),
            stand_by_for: self.stand_by_for,
        }
    }

    pub(super) fn as_renewal(&self, term: Term) -> Renew {
        Renew { key: self.key.clone(), nonce: self.nonce, term, ttl: self.ttl }
    }

    pub(super) fn as_resignation(&self, term: Option<Term>) -> Resign {
        let (key, reason) = (self.key.clone(), LossReason::Resigned);
        Resign { key, nonce: self.nonce, term, successor: None, reason }
    }

    pub(super) async fn campaigns(&self) -> CampaignReply {
        trial::begins(self.ttl);
        trial::begins(self.stand_by_for);
        only(self.store.campaign(&[self.as_campaign()]).await)
    }

    /// Campaigns and must be granted the lease.
    pub(super) async fn wins(&self) -> Term {
        match self.campaigns().await {
            CampaignReply::Granted { term } => term,
            CampaignReply::Held(held) => panic!("{:?} should have been granted the lease: {held:?}", self.candidate),
        }
    }

    /// Campaigns and must be refused the lease.
    pub(super) async fn is_kept_out(&self) -> Held {
        match self.campaigns().await {
            CampaignReply::Held(held) => held,
            CampaignReply::Granted { term } => panic!("{:?} should not have been granted {term:?}", self.candidate),
        }
    }

    pub(super) async fn renews(&self, term: Term) -> RenewReply {
        trial::begins(self.ttl);
        only(self.store.renew(&[self.as_renewal(term)]).await)
    }

    /// Renews and must still hold the lease.
    pub(super) async fn keeps(&self, term: Term) -> Option<Handover> {
        match self.renews(term).await {
            RenewReply::Renewed { handover } => handover,
            RenewReply::NotHolder { current } => {
                panic!("{:?} should still hold {term:?}, but the store shows {current:?}", self.candidate)
            }
        }
    }

    /// Renews, and must no longer hold the lease.
    pub(super) async fn has_lost(&self, term: Term) -> Option<Term> {
        match self.renews(term).await {
            RenewReply::NotHolder { current } => current,
            RenewReply::Renewed { .. } => panic!("{:?} should not have been renewed under {term:?}", self.candidate),
        }
    }

    pub(super) async fn resigns(&self, term: Term) {
        trial::begins(RESERVATION);
        only(self.store.resign(&[self.as_resignation(Some(term))]).await);
    }

    pub(super) async fn resigns_to(&self, term: Term, successor: &str) {
        trial::begins(RESERVATION);
        let resignation = Resign { successor: Some(id(successor)), ..self.as_resignation(Some(term)) };
        only(self.store.resign(&[resignation]).await);
    }

    /// Releases whatever it owns, and stands by no longer.
    pub(super) async fn withdraws(&self) {
        trial::begins(RESERVATION);
        only(self.store.resign(&[self.as_resignation(None)]).await);
    }

    pub(super) async fn observes(&self) -> Observation {
        only(self.store.observe(std::slice::from_ref(&self.key)).await)
    }

    /// Who stands by, the next one first.
    pub(super) async fn sees_standing_by(&self) -> Vec<CandidateId> {
        self.observes().await.standing_by.into_iter().map(|stand_by| stand_by.candidate).collect()
    }

    /// The term that is led under now.
    pub(super) async fn sees_term(&self) -> Option<Term> {
        self.observes().await.lease.map(|lease| lease.leader.term)
    }
}

/// Goes on until something that takes `span` is surely over.
pub(super) async fn pass(fixture: &dyn Fixture, span: Duration) {
    let_pass(fixture, span + slack(fixture) + TICK).await;
}

/// Goes on until something that takes `span` is about to end, but surely has not ended.
pub(super) async fn almost_pass(fixture: &dyn Fixture, span: Duration) {
    let_pass(fixture, span.saturating_sub(slack(fixture) + TICK)).await;
}

/// Goes on from where [`almost_pass`] stopped until the same span is surely over.
pub(super) async fn pass_the_rest(fixture: &dyn Fixture) {
    let_pass(fixture, (slack(fixture) + TICK) * 2).await;
}

/// Lets just so much time go by that any store can tell what came first.
pub(super) async fn a_little_later(fixture: &dyn Fixture) {
    let_pass(fixture, TICK * 10).await;
}

/// How much time may go by on its own.
pub(super) fn slack(fixture: &dyn Fixture) -> Duration {
    fixture.slack() * trial::leisure()
}

async fn let_pass(fixture: &dyn Fixture, time: Duration) {
    trial::passes(time);
    fixture.advance(time).await;
}

/// The shortest ttl used: short, so that a real server need not be waited for long, but never below what it can keep.
pub(super) fn unit(store: &dyn Store) -> Duration {
    store.capabilities().min_ttl.max(Duration::from_secs(1)) * trial::leisure()
}

/// An election in the default namespace.
pub(super) fn key(name: &str) -> ElectionKey {
    key_in("default", name)
}

pub(super) fn key_in(namespace: &str, name: &str) -> ElectionKey {
    let namespace = Namespace::new(namespace).expect("a valid namespace");
    ElectionKey { namespace, name: ElectionName::new(name).expect("a valid name") }
}

pub(super) fn id(candidate: &str) -> CandidateId {
    CandidateId::new(candidate).expect("a valid candidate id")
}

/// All 128 bits are drawn, so that a store that keeps only some of them is found out.
pub(super) fn fresh_nonce() -> Nonce {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system's random numbers");
    Nonce::from_bits(u128::from_ne_bytes(bytes))
}

/// The one answer to a batch of one.
pub(super) fn only<T>(replies: tenure_store::Replies<T>) -> T {
    assert_eq!(replies.len(), 1, "a batch of one has one answer");
    all(replies).remove(0)
}

/// The answers to a batch, none of which may be an error.
pub(super) fn all<T>(replies: tenure_store::Replies<T>) -> Vec<T> {
    let answer =
        |reply: Result<T, tenure_store::StoreError>| reply.unwrap_or_else(|error| panic!("{error} ({error:?})"));
    replies.into_iter().map(answer).collect()
}
