//! One candidate in one election, as the tests of stores see it: short ways to say things.
#![allow(dead_code, reason = "every test program uses some of it")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tenure::store::ledger::{Act, Claim, Claimed, Finish, JobReport, Open, OpenJob, Opened, Outcome, Tick};
use tenure::store::{Campaign, ElectionKey, Hint, Observation, Renew, Resign, StoreErrorKind};
use tenure::{JobName, Store, StoreError};
use tenure_core::{
    CampaignReply, CandidateId, ElectionName, Failure, Held, LossReason, Namespace, Nonce, Priority, RenewReply, Term,
};
pub(crate) use tenure_testkit::PATIENCE;

/// Longer than any test.
pub(crate) const TTL: Duration = Duration::from_secs(600);

/// A handle of its own on the servers at this address.
pub(crate) fn open(url: &str) -> Arc<dyn Store> {
    tenure::store::open(&url.parse().unwrap()).unwrap()
}

pub(crate) fn key(name: &str) -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new(name).unwrap() }
}

pub(crate) fn id(text: &str) -> CandidateId {
    CandidateId::new(text).unwrap()
}

/// One candidate in one election, with a nonce of its own.
#[derive(Clone)]
pub(crate) struct Stander {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) key: ElectionKey,
    pub(crate) id: CandidateId,
    pub(crate) nonce: Nonce,
    pub(crate) ttl: Duration,
}

impl Stander {
    pub(crate) fn new(store: &Arc<dyn Store>, election: &str, name: &str) -> Self {
        static USED: AtomicU64 = AtomicU64::new(1);
        let number = USED.fetch_add(1, Ordering::Relaxed);
        let nonce = Nonce::from_bits(u128::from(std::process::id()) << 64 | u128::from(number));
        Self { store: Arc::clone(store), key: key(election), id: id(name), nonce, ttl: TTL }
    }

    /// One with a handle of its own.
    pub(crate) fn at(url: &str, election: &str, name: &str) -> Self {
        Self::new(&open(url), election, name)
    }

    pub(crate) fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    pub(crate) fn request(&self) -> Campaign {
        Campaign {
            key: self.key.clone(),
            candidate: self.id.clone(),
            nonce: self.nonce,
            ttl: self.ttl,
            priority: Priority::MAX,
            metadata: Arc::default(),
            stand_by_for: TTL,
        }
    }

    pub(crate) fn renewal(&self, term: Term) -> Renew {
        Renew { key: self.key.clone(), nonce: self.nonce, term, ttl: self.ttl }
    }

    pub(crate) fn resignation(&self) -> Resign {
        let (key, reason) = (self.key.clone(), LossReason::Resigned);
        Resign { key, nonce: self.nonce, term: None, successor: None, reason }
    }

    pub(crate) async fn campaign(&self) -> Result<CampaignReply, StoreError> {
        self.store.campaign(&[self.request()]).await.remove(0)
    }

    pub(crate) async fn granted(&self) -> Term {
        granted(self.campaign().await)
    }

    pub(crate) async fn held(&self) -> Held {
        held(self.campaign().await)
    }

    /// Campaigns until it leads. Errors pass, and so do other leaders.
    pub(crate) async fn granted_soon(&self) -> Term {
        until("a grant", async || self.campaign().await.ok().as_ref().and_then(term_of)).await
    }

    /// Campaigns, and must be told of an error.
    pub(crate) async fn refused(&self) -> StoreError {
        self.campaign().await.expect_err("the campaign should have failed")
    }

    pub(crate) async fn renew(&self, term: Term) -> Result<RenewReply, StoreError> {
        self.store.renew(&[self.renewal(term)]).await.remove(0)
    }

    /// Renews, and must hold the lease.
    pub(crate) async fn keeps(&self, term: Term) {
        let reply = self.renew(term).await.unwrap();
        assert!(matches!(reply, RenewReply::Renewed { .. }), "{reply:?}");
    }

    /// Renews, and must not hold the lease. Returns what the store shows instead.
    pub(crate) async fn has_lost(&self, term: Term) -> Option<Term> {
        match self.renew(term).await.unwrap() {
            RenewReply::NotHolder { current } => current,
            RenewReply::Renewed { .. } => panic!("{:?} was renewed under {term:?}", self.id),
        }
    }

    pub(crate) async fn resign(&self) -> Result<(), StoreError> {
        self.store.resign(&[self.resignation()]).await.remove(0)
    }

    /// Opens a job whose mark is at second 100.
    pub(crate) async fn open_job(&self, term: Term) -> Result<Opened, StoreError> {
        let jobs = vec![OpenJob { job: job(), schedule: "daily".into(), from: Tick::from_unix_s(100) }];
        let request = Open { key: self.key.clone(), nonce: self.nonce, term, jobs };
        self.store.ledger().unwrap().open(&request).await
    }

    /// To run that job.
    pub(crate) fn as_claim(&self, term: Term, second: u64) -> Claim {
        Claim {
            key: self.key.clone(),
            nonce: self.nonce,
            term,
            candidate: self.id.clone(),
            job: job(),
            tick: Tick::from_unix_s(second),
            act: Act::Run,
            missed: 0,
        }
    }

    pub(crate) async fn claim(&self, term: Term, second: u64) -> Result<Claimed, StoreError> {
        self.store.ledger().unwrap().claim(&[self.as_claim(term, second)]).await.remove(0)
    }

    /// To run it although it is decided.
    pub(crate) async fn claim_again(&self, term: Term, second: u64) -> Result<Claimed, StoreError> {
        let claim = Claim { act: Act::RunAgain, ..self.as_claim(term, second) };
        self.store.ledger().unwrap().claim(&[claim]).await.remove(0)
    }

    /// Says that it never began.
    pub(crate) async fn give_back(&self, term: Term, second: u64) -> Result<bool, StoreError> {
        let finish = Finish {
            key: self.key.clone(),
            nonce: self.nonce,
            term,
            job: job(),
            tick: Tick::from_unix_s(second),
            took: Duration::ZERO,
            retries: 0,
            outcome: Outcome::NotBegun,
        };
        self.store.ledger().unwrap().finish(&[finish]).await.remove(0)
    }

    pub(crate) async fn jobs(&self) -> Vec<JobReport> {
        self.store.ledger().unwrap().jobs(&self.key, 10).await.unwrap()
    }

    pub(crate) async fn observe(&self) -> Observation {
        self.store.observe(std::slice::from_ref(&self.key)).await.remove(0).unwrap()
    }
}

pub(crate) fn job() -> JobName {
    JobName::new("backup").unwrap()
}

pub(crate) fn granted(reply: Result<CampaignReply, StoreError>) -> Term {
    match reply.unwrap() {
        CampaignReply::Granted { term } => term,
        CampaignReply::Held(held) => panic!("held: {held:?}"),
    }
}

pub(crate) fn held(reply: Result<CampaignReply, StoreError>) -> Held {
    match reply.unwrap() {
        CampaignReply::Held(held) => held,
        CampaignReply::Granted { term } => panic!("granted: {term:?}"),
    }
}

/// The term, if there was a grant.
pub(crate) fn term_of(reply: &CampaignReply) -> Option<Term> {
    match reply {
        CampaignReply::Granted { term } => Some(*term),
        CampaignReply::Held(_) => None,
    }
}

/// Checks all that an error says: to programs, and to people in these words.
#[track_caller]
pub(crate) fn assert_told(error: &StoreError, kind: StoreErrorKind, failure: Failure, words: &[&str]) {
    assert_eq!((error.kind(), error.failure()), (kind, failure), "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in {error}");
    }
}

pub(crate) async fn next(hints: &mut BoxStream<'static, Hint>) -> Hint {
    tokio::time::timeout(PATIENCE, hints.next()).await.expect("no hint came").unwrap()
}

/// Waits for what nothing tells of, and lets the store go on meanwhile.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + 2 * PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited for {what}");
        // Waits because nothing signals what is asked here.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
