//! One candidate in one election, as the tests of stores see it: short ways to say things.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tenure::store::ledger::{Act, Claim, Claimed, Finish, JobReport, OpenJob, OpenJobs, Opened, RunOutcome, Tick};
use tenure::store::mailbox::AckOutcome;
use tenure::store::{
    Ack, AckReply, Campaign, ElectionKey, Hint, Message, MessageId, Observation, Receive, Received, Renew, Resign,
    StoreErrorKind,
};
use tenure::{JobName, Store, StoreError};
use tenure_core::{
    CampaignReply, CandidateId, ChannelName, ElectionName, Held, LossReason, Namespace, Nonce, Priority, RenewReply,
    Term, WriteOutcome,
};

pub use crate::PATIENCE;

/// Longer than any test.
pub const TTL: Duration = Duration::from_secs(600);

/// What messages are sent on.
pub const CHANNEL: &str = "refresh";

/// A handle of its own on the servers at this address.
#[must_use]
pub fn open(url: &str) -> Arc<dyn Store> {
    tenure::store::open(&url.parse().unwrap()).unwrap()
}

/// An election of this name.
#[must_use]
pub fn key(name: &str) -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new(name).unwrap() }
}

/// A candidate of this name.
#[must_use]
pub fn id(text: &str) -> CandidateId {
    CandidateId::new(text).unwrap()
}

/// One candidate in one election, with a nonce of its own.
#[derive(Clone)]
pub struct StoreCandidate {
    /// Its handle.
    pub store: Arc<dyn Store>,
    /// The election.
    pub key: ElectionKey,
    /// Who it is.
    pub id: CandidateId,
    /// Its own.
    pub nonce: Nonce,
    /// Of what it asks for.
    pub ttl: Duration,
}

impl StoreCandidate {
    /// One that uses this handle.
    #[must_use]
    pub fn new(store: &Arc<dyn Store>, election: &str, name: &str) -> Self {
        static USED: AtomicU64 = AtomicU64::new(1);
        let number = USED.fetch_add(1, Ordering::Relaxed);
        let nonce = Nonce::from_bits(u128::from(std::process::id()) << 64 | u128::from(number));
        Self { store: Arc::clone(store), key: key(election), id: id(name), nonce, ttl: TTL }
    }

    /// One with a handle of its own.
    #[must_use]
    pub fn at(url: &str, election: &str, name: &str) -> Self {
        Self::new(&open(url), election, name)
    }

    /// The same with leases of this length.
    #[must_use]
    pub fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// Its campaign.
    #[must_use]
    pub fn request(&self) -> Campaign {
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

    /// Its renewal under this term.
    #[must_use]
    pub fn renewal(&self, term: Term) -> Renew {
        Renew { key: self.key.clone(), nonce: self.nonce, term, ttl: self.ttl }
    }

    /// Its resignation, whatever the term is.
    #[must_use]
    pub fn resignation(&self) -> Resign {
        let (key, reason) = (self.key.clone(), LossReason::Resigned);
        Resign { key, nonce: self.nonce, term: None, successor: None, reason }
    }

    /// Campaigns.
    ///
    /// # Errors
    /// What the store says.
    pub async fn campaign(&self) -> Result<CampaignReply, StoreError> {
        self.store.campaign(&[self.request()]).await.remove(0)
    }

    /// Campaigns, and must be elected.
    pub async fn granted(&self) -> Term {
        granted(self.campaign().await)
    }

    /// Campaigns, and must find that somebody else leads.
    pub async fn held(&self) -> Held {
        held(self.campaign().await)
    }

    /// Campaigns until it leads. Errors pass, and so do other leaders.
    pub async fn granted_soon(&self) -> Term {
        until("a grant", async || self.campaign().await.ok().as_ref().and_then(term_of)).await
    }

    /// Campaigns, and must be told of an error.
    pub async fn refused(&self) -> StoreError {
        self.campaign().await.expect_err("the campaign should have failed")
    }

    /// Renews.
    ///
    /// # Errors
    /// What the store says.
    pub async fn renew(&self, term: Term) -> Result<RenewReply, StoreError> {
        self.store.renew(&[self.renewal(term)]).await.remove(0)
    }

    /// Renews, and must hold the lease.
    pub async fn keeps(&self, term: Term) {
        let reply = self.renew(term).await.unwrap();
        assert!(matches!(reply, RenewReply::Renewed { .. }), "{reply:?}");
    }

    /// Renews, and must not hold the lease. Returns what the store shows instead.
    pub async fn has_lost(&self, term: Term) -> Option<Term> {
        match self.renew(term).await.unwrap() {
            RenewReply::NotHolder { current } => current,
            RenewReply::Renewed { .. } => panic!("{:?} was renewed under {term:?}", self.id),
        }
    }

    /// Resigns.
    ///
    /// # Errors
    /// What the store says.
    pub async fn resign(&self) -> Result<(), StoreError> {
        self.store.resign(&[self.resignation()]).await.remove(0)
    }

    /// Opens a job whose mark is at second 100.
    ///
    /// # Errors
    /// What the store says.
    pub async fn open_job(&self, term: Term) -> Result<Opened, StoreError> {
        let jobs = vec![OpenJob { job: job(), schedule: "daily".into(), from: Tick::from_unix_s(100) }];
        let request = OpenJobs { key: self.key.clone(), nonce: self.nonce, term, jobs };
        self.store.ledger().unwrap().open(&request).await
    }

    /// To run that job.
    #[must_use]
    pub fn as_claim(&self, term: Term, second: u64) -> Claim {
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

    /// Claims a tick of that job.
    ///
    /// # Errors
    /// What the store says.
    pub async fn claim(&self, term: Term, second: u64) -> Result<Claimed, StoreError> {
        self.store.ledger().unwrap().claim(&[self.as_claim(term, second)]).await.remove(0)
    }

    /// To run it although it is decided.
    ///
    /// # Errors
    /// What the store says.
    pub async fn claim_again(&self, term: Term, second: u64) -> Result<Claimed, StoreError> {
        let claim = Claim { act: Act::RunAgain, ..self.as_claim(term, second) };
        self.store.ledger().unwrap().claim(&[claim]).await.remove(0)
    }

    /// Says that it never began.
    ///
    /// # Errors
    /// What the store says.
    pub async fn give_back(&self, term: Term, second: u64) -> Result<bool, StoreError> {
        let finish = Finish {
            key: self.key.clone(),
            nonce: self.nonce,
            term,
            job: job(),
            tick: Tick::from_unix_s(second),
            took: Duration::ZERO,
            retries: 0,
            outcome: RunOutcome::NotBegun,
        };
        self.store.ledger().unwrap().finish(&[finish]).await.remove(0)
    }

    /// What the ledger knows of the jobs.
    pub async fn jobs(&self) -> Vec<JobReport> {
        self.store.ledger().unwrap().jobs(&self.key, 10).await.unwrap()
    }

    /// Receives what is sent on the [channel](CHANNEL) of tests.
    ///
    /// # Errors
    /// What the store says.
    pub async fn try_receive(&self, term: Term) -> Result<Received, StoreError> {
        let channels = vec![ChannelName::new(CHANNEL).unwrap()];
        let (key, nonce) = (self.key.clone(), self.nonce);
        let request = Receive { key, nonce, term, channels, except: Vec::new(), limit: 100 };
        self.store.mailbox().unwrap().receive(&request).await
    }

    /// Receives, and must lead.
    pub async fn receives(&self, term: Term) -> Vec<Message> {
        match self.try_receive(term).await.unwrap() {
            Received::Messages(messages) => messages,
            Received::NotHolder => panic!("{:?} leads", self.id),
        }
    }

    /// Says what became of a message.
    ///
    /// # Errors
    /// What the store says.
    pub async fn ack(&self, term: Term, id: MessageId, outcome: AckOutcome) -> Result<AckReply, StoreError> {
        let request = Ack { key: self.key.clone(), nonce: self.nonce, term, outcomes: vec![(id, outcome)] };
        self.store.mailbox().unwrap().ack(&request).await
    }

    /// What can be seen of the election.
    pub async fn observe(&self) -> Observation {
        self.store.observe(std::slice::from_ref(&self.key)).await.remove(0).unwrap()
    }
}

/// The job of [`StoreCandidate::open_job`].
#[must_use]
pub fn job() -> JobName {
    JobName::new("backup").unwrap()
}

/// The term, which must have been granted.
pub fn granted(reply: Result<CampaignReply, StoreError>) -> Term {
    match reply.unwrap() {
        CampaignReply::Granted { term } => term,
        CampaignReply::Held(held) => panic!("held: {held:?}"),
    }
}

/// Who leads instead, as somebody must.
pub fn held(reply: Result<CampaignReply, StoreError>) -> Held {
    match reply.unwrap() {
        CampaignReply::Held(held) => held,
        CampaignReply::Granted { term } => panic!("granted: {term:?}"),
    }
}

/// The term, if there was a grant.
#[must_use]
pub fn term_of(reply: &CampaignReply) -> Option<Term> {
    match reply {
        CampaignReply::Granted { term } => Some(*term),
        CampaignReply::Held(_) => None,
    }
}

/// Checks all that an error says: to programs, and to people in these words.
#[track_caller]
pub fn assert_told(error: &StoreError, kind: StoreErrorKind, failure: WriteOutcome, words: &[&str]) {
    assert_eq!((error.kind(), error.write_outcome()), (kind, failure), "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in {error}");
    }
}

/// The next hint.
pub async fn next(hints: &mut BoxStream<'static, Hint>) -> Hint {
    tokio::time::timeout(PATIENCE, hints.next()).await.expect("no hint came").unwrap()
}

/// Waits for what nothing tells of, and lets the store go on meanwhile.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
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
