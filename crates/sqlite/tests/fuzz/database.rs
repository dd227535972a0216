//! A database with elections of every kind, and everything that can be asked of a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use tenure::store::mailbox::AckOutcome;
use tenure::store::sqlite::SqliteStore;
use tenure::store::{
    Ack, Campaign, ElectionKey, Interest, Mailbox, MessageId, MessageState, NewMessage, Receive, Renew, Replies, Resign,
};
use tenure::{Store, StoreError};
use tenure_core::{CandidateId, ChannelName, ElectionName, LossReason, Namespace, Nonce, Priority, Sender, Term};
use tokio::runtime::{Builder, Runtime};

/// Nothing here takes this long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// No lease may run out while inputs are tried.
const TTL: Duration = Duration::from_secs(1_000_000);

/// One election is led and has stand-bys, one is reserved, and one is free; there never was the last.
pub(crate) const ELECTIONS: [&str; 4] = ["led", "reserved", "free", "new"];

/// A copy of a database that is in use, and a runtime to ask stores in.
pub(crate) struct Pristine {
    pub(crate) directory: TempDir,
    pub(crate) path: PathBuf,
    runtime: Runtime,
}

impl Pristine {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (used, path) = (directory.path().join("used.db"), directory.path().join("pristine.db"));
        let store = SqliteStore::open(&used).unwrap();
        runtime.block_on(populate(&store));
        let connection = Connection::open(&used).unwrap();
        connection.execute("VACUUM INTO ?1", [path.to_str().unwrap()]).unwrap();
        Self { directory, path, runtime }
    }

    /// Asks everything of a store. It may fail, but not break down, and not for ever.
    pub(crate) fn ask_everything(&self, store: &SqliteStore) {
        let all = async { tokio::time::timeout(PATIENCE, ask_everything(store)).await };
        self.runtime.block_on(all).expect("it hangs");
    }

    /// Whether a store knows who leads, as it should when nothing is wrong.
    pub(crate) fn knows_the_leader(&self, store: &SqliteStore) -> bool {
        let seen = self.runtime.block_on(store.observe(&[key("led")])).remove(0);
        seen.is_ok_and(|seen| seen.lease.is_some_and(|lease| lease.leader.candidate.as_str() == "one"))
    }
}

/// A connection that waits for its turn and does not wait for the disk.
pub(crate) fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(PATIENCE).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
    connection
}

async fn populate(store: &SqliteStore) {
    for (election, candidate, nonce) in
        [("led", "one", 1), ("led", "two", 2), ("led", "three", 3), ("reserved", "one", 1), ("free", "one", 1)]
    {
        store.campaign(&[campaign(election, candidate, nonce)]).await.remove(0).unwrap();
    }
    store.request_handover(&key("led"), Some(&id("two"))).await.unwrap();
    store.resign(&[resign("reserved", 1, Some("two")), resign("free", 1, None)]).await;
    drop(store.watch(Interest::All));
    for id in [1, 2, 3] {
        store.send(&[new_message("led", id)]).await.remove(0).unwrap();
    }
    check(store.ack(&ack("led", 1)).await);
}

async fn ask_everything(store: &SqliteStore) {
    let keys = ELECTIONS.map(key);
    check_all(store.observe(&keys).await);
    for (candidate, nonce) in [("two", 2), ("four", 4)] {
        check_all(store.campaign(&ELECTIONS.map(|election| campaign(election, candidate, nonce))).await);
    }
    for nonce in [1, 4] {
        let term = Term::new(1).unwrap();
        let renew = |key| Renew { key, nonce: Nonce::from_bits(nonce), term, ttl: TTL };
        check_all(store.renew(&keys.clone().map(renew)).await);
    }
    for key in &keys {
        check(store.request_handover(key, Some(&id("two"))).await);
        check(store.history(key, 10).await);
    }
    ask_the_mailbox(store).await;
    check(store.elections(&Namespace::default()).await);
    drop(store.watch(Interest::All));
    assert!(!store.examine().await.is_empty());
    for nonce in [1, 4] {
        check_all(store.resign(&ELECTIONS.map(|election| resign(election, nonce, None))).await);
    }
}

async fn ask_the_mailbox(store: &SqliteStore) {
    check_all(store.send(&ELECTIONS.map(|election| new_message(election, 4))).await);
    for election in ELECTIONS {
        for nonce in [1, 2] {
            let (key, nonce, term) = (key(election), Nonce::from_bits(nonce), Term::new(1).unwrap());
            let request = Receive { key, nonce, term, channels: vec![channel()], except: Vec::new(), limit: 10 };
            check(store.receive(&request).await);
        }
        check(store.ack(&ack(election, 1)).await);
        for state in [MessageState::Pending, MessageState::DeadLetter] {
            check(store.list(&key(election), state, 10).await);
        }
        check(store.requeue(&key(election), None).await);
    }
}

fn check_all<T>(replies: Replies<T>) {
    assert_eq!(replies.len(), ELECTIONS.len());
    replies.into_iter().for_each(check);
}

/// An error is an answer, unless it says that the thread of the store has panicked.
fn check<T>(reply: Result<T, StoreError>) {
    if let Err(error) = reply {
        assert!(!error.to_string().contains("has panicked"), "{error}");
    }
}

fn campaign(election: &str, candidate: &str, nonce: u128) -> Campaign {
    Campaign {
        key: key(election),
        candidate: id(candidate),
        nonce: Nonce::from_bits(nonce),
        ttl: TTL,
        priority: Priority::MAX,
        metadata: Arc::default(),
        stand_by_for: TTL,
    }
}

fn resign(election: &str, nonce: u128, successor: Option<&str>) -> Resign {
    let (key, nonce, successor) = (key(election), Nonce::from_bits(nonce), successor.map(id));
    Resign { key, nonce, term: None, successor, reason: LossReason::Resigned }
}

fn new_message(election: &str, id: u128) -> NewMessage {
    let (key, id, sender) = (key(election), MessageId::from_bits(id), Sender::new("one").unwrap());
    NewMessage { key, id, channel: channel(), sender, payload: Arc::from("[1]") }
}

/// One of each, of messages 1 to 3.
fn ack(election: &str, nonce: u128) -> Ack {
    let why = || "no".to_owned();
    let outcomes = [
        AckOutcome::Done,
        AckOutcome::Failed { attempt: 1, why: why() },
        AckOutcome::DeadLettered { attempt: 2, why: why() },
    ];
    let outcomes = (1..).map(MessageId::from_bits).zip(outcomes).collect();
    Ack { key: key(election), nonce: Nonce::from_bits(nonce), term: Term::new(1).unwrap(), outcomes }
}

fn channel() -> ChannelName {
    ChannelName::new("refresh").unwrap()
}

fn key(name: &str) -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new(name).unwrap() }
}

fn id(name: &str) -> CandidateId {
    CandidateId::new(name).unwrap()
}
