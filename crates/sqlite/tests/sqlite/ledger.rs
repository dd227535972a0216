//! What is particular to the ledger of the SQLite store: files of earlier versions, and rows that tenure never wrote.

use std::path::Path;

use rusqlite::Connection;
use tenure::JobName;
use tenure::store::ledger::{Act, Claim, Claimed, Finish, OpenJob, OpenJobs, Opened, OpenedJob, RunOutcome, Tick};
use tenure::store::sqlite::SqliteStore;
use tenure::store::{JobLedger, Mailbox, MessageState, StoreErrorKind};
use tenure_core::Term;

use crate::messages::{new_message, send};
use crate::support::{SqliteCandidate, key, place};

const SECOND_VERSION: [&str; 2] = [include_str!("../../src/schema.sql"), include_str!("../../src/schema_messages.sql")];

#[tokio::test]
async fn a_file_of_the_second_version_is_brought_up_to_date() {
    let (_directory, path) = place();
    let old = second_version(&path);
    let store = SqliteStore::open(&path).unwrap();
    let version: i64 = old.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 8);
    let leader = SqliteCandidate::new(&store, "e", "one");
    let term = leader.granted().await;
    assert_eq!(term.get(), 8, "what it held is still there");
    assert_eq!(opened(&leader, term, 100).await.mark, Tick::from_unix_s(100));
    assert_eq!(claimed(&leader, term, 200).await, Claimed::Granted);
    send(&store, &[new_message(&key("e"), "1")]).await;
    assert_eq!(store.list(&key("e"), MessageState::Pending, 10).await.unwrap().len(), 1);
    // A program of the second version that has the file open goes on.
    assert_eq!(old.execute("UPDATE election SET last_term = 9 WHERE name = 'e'", ()).unwrap(), 1);
}

#[tokio::test]
async fn what_is_written_down_outlasts_the_store() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let leader = SqliteCandidate::new(&store, "e", "one");
    let term = leader.granted().await;
    opened(&leader, term, 100).await;
    assert_eq!(claimed(&leader, term, 200).await, Claimed::Granted);
    leader.resign().await.unwrap();
    let before = store.jobs(&key("e"), 10).await.unwrap();
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.jobs(&key("e"), 10).await.unwrap(), before);
    let next = SqliteCandidate::new(&store, "e", "other");
    let term = next.granted().await;
    let opened = opened(&next, term, 999).await;
    assert_eq!((opened.mark.unix_s(), opened.interrupted), (200, vec![Tick::from_unix_s(200)]));
}

#[tokio::test]
async fn a_row_that_makes_no_sense_spoils_only_its_own_election() {
    for nonsense in [
        "UPDATE job SET mark = -1 WHERE election = 'e'",
        "UPDATE job SET fired = -1 WHERE election = 'e'",
        "UPDATE job SET schedule = CAST(x'ff' AS TEXT) WHERE election = 'e'",
        "UPDATE run SET nonce = x'00' WHERE job = 1",
        "UPDATE run SET term = 0 WHERE job = 1",
        "UPDATE run SET candidate = '' WHERE job = 1",
        "UPDATE run SET ended_at_unix_ms = 1, took = 1, outcome = 'none' WHERE job = 1",
        "UPDATE run SET ended_at_unix_ms = 1, took = -1, outcome = 'succeeded' WHERE job = 1",
    ] {
        let (_directory, path) = place();
        let store = SqliteStore::open(&path).unwrap();
        let (leader, fine) = (SqliteCandidate::new(&store, "e", "one"), SqliteCandidate::new(&store, "fine", "one"));
        let terms = [leader.granted().await, fine.granted().await];
        for (player, term) in [(&leader, terms[0]), (&fine, terms[1])] {
            opened(player, term, 100).await;
            assert_eq!(claimed(player, term, 200).await, Claimed::Granted);
        }
        Connection::open(&path).unwrap().execute_batch(nonsense).unwrap();
        assert_eq!(store.jobs(&key("e"), 10).await.unwrap_err().kind(), StoreErrorKind::Corrupt, "{nonsense}");
        let mut replies = store.claim(&[claim(&leader, terms[0], 200), claim(&fine, terms[1], 300)]).await;
        assert_eq!(replies.remove(1).unwrap(), Claimed::Granted, "{nonsense}");
        assert_eq!(replies.remove(0).unwrap_err().kind(), StoreErrorKind::Corrupt, "{nonsense}");
        let mut replies = store.finish(&[end(&leader, terms[0]), end(&fine, terms[1])]).await;
        assert!(replies.remove(1).unwrap(), "{nonsense}");
        assert_eq!(replies.remove(0).unwrap_err().kind(), StoreErrorKind::Corrupt, "{nonsense}");
    }
}

fn second_version(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    for step in SECOND_VERSION {
        connection.execute_batch(step).unwrap();
    }
    connection.execute_batch("INSERT INTO election (namespace, name, last_term) VALUES ('default', 'e', 7)").unwrap();
    connection
}

fn job() -> JobName {
    JobName::new("backup").unwrap()
}

async fn opened(leader: &SqliteCandidate<'_>, term: Term, from: u64) -> OpenedJob {
    let jobs = vec![OpenJob { job: job(), schedule: "daily".into(), from: Tick::from_unix_s(from) }];
    let request = OpenJobs { key: leader.key.clone(), nonce: leader.nonce, term, jobs };
    match JobLedger::open(leader.store, &request).await.unwrap() {
        Opened::Jobs(mut opened) => opened.remove(0),
        refusal @ (Opened::TooMany | Opened::NotHolder) => panic!("{refusal:?}"),
    }
}

fn claim(leader: &SqliteCandidate<'_>, term: Term, second: u64) -> Claim {
    Claim {
        key: leader.key.clone(),
        nonce: leader.nonce,
        term,
        candidate: leader.id.clone(),
        job: job(),
        tick: Tick::from_unix_s(second),
        act: Act::Run,
        missed: 0,
    }
}

async fn claimed(leader: &SqliteCandidate<'_>, term: Term, second: u64) -> Claimed {
    leader.store.claim(&[claim(leader, term, second)]).await.remove(0).unwrap()
}

fn end(leader: &SqliteCandidate<'_>, term: Term) -> Finish {
    Finish {
        key: leader.key.clone(),
        nonce: leader.nonce,
        term,
        job: job(),
        tick: Tick::from_unix_s(200),
        took: std::time::Duration::from_secs(1),
        retries: 0,
        outcome: RunOutcome::Succeeded,
    }
}
