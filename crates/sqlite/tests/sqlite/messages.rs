//! Messages in files, and between processes.

use std::path::Path;
use std::sync::{Arc, Barrier};

use futures_util::FutureExt;
use futures_util::stream::StreamExt;
use rusqlite::Connection;
use tenure::Store;
use tenure::store::mailbox::AckOutcome;
use tenure::store::sqlite::SqliteStore;
use tenure::store::{
    Ack, AckReply, ElectionKey, Interest, Mailbox, Message, MessageId, MessageState, NewMessage, Receive, Received,
    StoreErrorKind, random_message_id,
};
use tenure_core::{ChannelName, Sender, Term};

use crate::support::{Other, SqliteCandidate, key, next, pipes, place};

/// What the file of the first version consists of. This step of the schema is never changed.
const FIRST_VERSION: &str = include_str!("../../src/schema.sql");

pub(crate) fn new_message(key: &ElectionKey, payload: &str) -> NewMessage {
    NewMessage {
        key: key.clone(),
        id: random_message_id(),
        channel: ChannelName::new("refresh").unwrap(),
        sender: Sender::new("sender").unwrap(),
        payload: Arc::from(payload),
    }
}

pub(crate) async fn send(store: &SqliteStore, batch: &[NewMessage]) {
    for reply in store.send(batch).await {
        reply.unwrap();
    }
}

async fn waiting(store: &SqliteStore, election: &str) -> Vec<Message> {
    store.list(&key(election), MessageState::Pending, 100).await.unwrap()
}

async fn receive(leader: &SqliteCandidate<'_>, term: Term) -> Vec<Message> {
    let channels = vec![ChannelName::new("refresh").unwrap()];
    let (key, nonce) = (leader.key.clone(), leader.nonce);
    let request = Receive { key, nonce, term, channels, except: Vec::new(), limit: 100 };
    match leader.store.receive(&request).await.unwrap() {
        Received::Messages(messages) => messages,
        Received::NotHolder => panic!("it leads"),
    }
}

async fn ack(leader: &SqliteCandidate<'_>, term: Term, outcomes: Vec<(MessageId, AckOutcome)>) {
    let request = Ack { key: leader.key.clone(), nonce: leader.nonce, term, outcomes };
    assert_eq!(leader.store.ack(&request).await.unwrap(), AckReply::Accepted { dropped: 0 });
}

fn payloads(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| &*message.payload).collect()
}

#[tokio::test]
async fn messages_survive_the_handle() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let leader = SqliteCandidate::new(&store, "e", "one");
    let term = leader.granted().await;
    let batch = ["1", "2", "3"].map(|payload| new_message(&leader.key, payload));
    send(&store, &batch).await;
    let failed = AckOutcome::Failed { attempt: 1, why: "no".to_owned() };
    let dead_letter = AckOutcome::DeadLettered { attempt: 5, why: "never".to_owned() };
    ack(&leader, term, vec![(batch[0].id, failed), (batch[2].id, dead_letter)]).await;
    leader.resign().await.unwrap();
    drop(store);

    let store = SqliteStore::open(&path).unwrap();
    let next = SqliteCandidate::new(&store, "e", "next");
    let term = next.granted().await;
    let received = receive(&next, term).await;
    assert_eq!(payloads(&received), ["1", "2"]);
    assert_eq!((received[0].attempts, received[0].last_error.as_deref()), (1, Some("no")));
    send(&store, &batch).await;
    assert_eq!(payloads(&waiting(&store, "e").await), ["1", "2"], "ids are remembered, too");
    assert_eq!(store.requeue(&next.key, None).await.unwrap(), 1);
    assert_eq!(payloads(&receive(&next, term).await), ["1", "2", "3"]);
}

#[tokio::test]
async fn messages_survive_a_sender_that_is_killed() {
    let (_directory, path) = place();
    let mut sender = Other::start("send", &path);
    let accepted: usize = (0..20).map(|_| sender.line().unwrap().parse::<usize>().unwrap()).last().unwrap();
    sender.kill();
    let all: Vec<usize> =
        [accepted].into_iter().chain(sender.rest().iter().map(|line| line.parse().unwrap())).collect();
    let store = SqliteStore::open(&path).unwrap();
    let kept = store.list(&key("e"), MessageState::Pending, 10_000).await.unwrap();
    let numbers: Vec<usize> = kept.iter().map(|message| message.payload.parse().unwrap()).collect();
    assert!(numbers.len() > *all.last().unwrap(), "{} of {all:?}", numbers.len());
    assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>(), "all that were accepted, in order");
}

#[tokio::test]
async fn a_leader_in_another_process_is_told() {
    let (_directory, path) = place();
    let mut leader = Other::start("lead and listen", &path);
    leader.line().unwrap();
    let store = SqliteStore::open(&path).unwrap();
    send(&store, &[new_message(&key("e"), "1")]).await;
    assert_eq!(leader.line().unwrap(), "messages of e");
    // Had the message woken those who wait for elections, they would say so before this.
    assert!(store.request_handover(&key("f"), None).await.unwrap());
    assert_eq!(leader.line().unwrap(), "election f");
}

#[tokio::test]
async fn only_the_leader_is_told_and_only_of_messages() {
    let (_directory, path) = place();
    let (one, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    let leader = SqliteCandidate::new(&one, "e", "one");
    leader.granted().await;
    SqliteCandidate::new(&other, "e", "other").held().await;
    SqliteCandidate::new(&other, "mine", "other").granted().await;
    let (mut of_leader, mut of_other) = (one.watch(Interest::Messages), other.watch(Interest::Messages));
    let (mut own, mut all) = (one.watch(Interest::Own), one.watch(Interest::All));
    one.observe(&[key("e")]).await.remove(0).unwrap();
    send(&other, &[new_message(&key("e"), "1"), new_message(&key("e"), "2")]).await;
    assert_eq!(next(&mut of_leader).await.key, Some(key("e")));
    // Whatever else was told would have come first.
    send(&one, &[new_message(&key("mine"), "3")]).await;
    assert_eq!(next(&mut of_other).await.key, Some(key("mine")));
    assert!(one.request_handover(&key("mine"), None).await.unwrap());
    SqliteCandidate::new(&one, "another", "one").granted().await;
    assert!(other.request_handover(&key("another"), None).await.unwrap());
    assert_eq!(next(&mut own).await.key, Some(key("another")));
    assert_eq!(next(&mut all).await.key, Some(key("mine")));
    assert_eq!(of_leader.next().now_or_never(), None, "one hint for both messages, and none for others");
}

/// Nobody reads its pipe for a while, and others fill it with messages.
#[tokio::test]
async fn a_pipe_full_of_messages_hides_no_election() {
    let (_directory, path) = place();
    let (one, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    let candidates: Vec<_> = (0..4_000).map(|n| SqliteCandidate::new(&one, &format!("election {n}"), "one")).collect();
    let batch: Vec<_> = candidates.iter().map(SqliteCandidate::request).collect();
    assert!(one.campaign(&batch).await.iter().all(Result::is_ok));
    let mut hints = one.watch(Interest::Own);
    let mut messages = one.watch(Interest::Messages);
    let new_messages: Vec<_> = candidates.iter().map(|candidate| new_message(&candidate.key, "1")).collect();
    send(&other, &new_messages).await;
    assert!(other.request_handover(&candidates[0].key, None).await.unwrap());
    assert_eq!(next(&mut hints).await.key, None, "anything may have happened");
    assert_eq!(next(&mut messages).await.key, None);
}

#[tokio::test]
async fn who_only_sends_leaves_no_trace() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    send(&store, &[new_message(&key("e"), "1")]).await;
    assert_eq!(store.elections(&key("e").namespace).await.unwrap(), []);
    assert_eq!(pipes(&path), 0);
}

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_up_to_date() {
    let (_directory, path) = place();
    let old = first_version(&path);
    let start = Barrier::new(10);
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                start.wait();
                SqliteStore::open(&path).unwrap();
            });
        }
    });
    let version = |connection: &Connection| -> i64 {
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    assert_eq!(version(&old), 8);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.elections(&key("e").namespace).await.unwrap(), [key("e").name]);
    let leader = SqliteCandidate::new(&store, "e", "one");
    let term = leader.granted().await;
    assert_eq!(term.get(), 8, "what it held is still there");
    send(&store, &[new_message(&key("e"), "1")]).await;
    assert_eq!(payloads(&receive(&leader, term).await), ["1"]);
    // A program of the first version that has the file open goes on.
    assert_eq!(old.execute("UPDATE election SET last_term = 9 WHERE name = 'e'", ()).unwrap(), 1);
}

fn first_version(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    connection.execute_batch(FIRST_VERSION).unwrap();
    connection.execute_batch("INSERT INTO election (namespace, name, last_term) VALUES ('default', 'e', 7)").unwrap();
    connection
}

#[tokio::test]
async fn a_message_that_makes_no_sense_spoils_only_its_own_election() {
    for nonsense in [
        "UPDATE message SET id = x'00'",
        "UPDATE message SET channel = char(10)",
        "UPDATE message SET sender = ''",
        "UPDATE message SET attempts = -1",
        "UPDATE message SET attempts = 4294967296",
        "UPDATE message SET sent_at_unix_ms = -1",
        "UPDATE message SET payload = CAST(x'ff' AS TEXT)",
        "UPDATE mailbox SET waiting = -1",
    ] {
        let (_directory, path) = place();
        let store = SqliteStore::open(&path).unwrap();
        send(&store, &[new_message(&key("e"), "1")]).await;
        Connection::open(&path).unwrap().execute_batch(nonsense).unwrap();
        let error = store.list(&key("e"), MessageState::Pending, 10).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{nonsense}");
        let mut replies = store.send(&[new_message(&key("e"), "2"), new_message(&key("fine"), "3")]).await;
        replies.pop().unwrap().unwrap();
        assert_eq!(payloads(&waiting(&store, "fine").await), ["3"], "{nonsense}");
    }
}
