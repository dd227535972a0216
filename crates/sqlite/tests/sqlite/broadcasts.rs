//! Broadcasts in a file: kept for a moment, for those who listen, and for nobody else.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use tenure::Clock;
use tenure::Store;
use tenure::store::PubSubEvent;
use tenure::store::sqlite::SqliteStore;
use tenure::testing::VirtualClock;

use crate::broadcast_listener::{BroadcastListener, say};
use crate::support::{key, pipes, place};

fn count(path: &Path, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    Connection::open(path).unwrap().query_row(&sql, (), |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn nothing_is_written_for_nobody() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    say(&store, &key("e"), "1").await.unwrap();
    assert_eq!((count(&path, "broadcast"), count(&path, "listener")), (0, 0));
    assert_eq!(pipes(&path), 0, "who only speaks leaves no trace");
}

#[tokio::test]
async fn what_was_said_is_removed_after_a_minute_and_never_more_than_a_thousand_are_kept() {
    let (_directory, path) = place();
    let hands = VirtualClock::new();
    let open = || SqliteStore::open_with_clock(&path, Clock::controlled_by(&hands)).unwrap();
    let (one, other) = (open(), open());
    let mut listener = BroadcastListener::new(&one, &key("e")).await;
    for number in 0..1_200 {
        say(&other, &key("e"), &number.to_string()).await.unwrap();
        assert_eq!(listener.payload().await, number.to_string());
    }
    assert_eq!(count(&path, "broadcast"), 1_000);
    hands.advance(Duration::from_secs(61));
    say(&other, &key("e"), "\"last\"").await.unwrap();
    assert_eq!(listener.payload().await, "\"last\"");
    assert_eq!(count(&path, "broadcast"), 1);
}

#[tokio::test]
async fn whoever_has_left_is_not_written_for() {
    let (_directory, path) = place();
    let (one, other, third) =
        (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    let (first, mut second) =
        (BroadcastListener::new(&one, &key("e")).await, BroadcastListener::new(&other, &key("e")).await);
    let _third = BroadcastListener::new(&third, &key("f")).await;
    assert_eq!(count(&path, "listener"), 3);
    drop(first);
    // The same thread does this after it has taken note of it.
    one.elections(&key("e").namespace).await.unwrap();
    assert_eq!(count(&path, "listener"), 2);
    drop(third);
    tenure_testkit::eventually("a closed store to be forgotten", || count(&path, "listener") == 1);
    say(&one, &key("e"), "1").await.unwrap();
    assert_eq!(second.payload().await, "1");
}

#[tokio::test]
async fn a_file_that_was_replaced_is_listened_to_again() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let mut listener = BroadcastListener::new(&store, &key("e")).await;
    for suffix in ["", "-wal", "-shm"] {
        std::fs::remove_file(format!("{}{suffix}", path.display())).unwrap();
    }
    let other = SqliteStore::open(&path).unwrap();
    // With its next request it finds out.
    while store.elections(&key("e").namespace).await.is_err() {}
    listener.resumes().await;
    say(&other, &key("e"), "1").await.unwrap();
    assert_eq!(listener.payload().await, "1");
}

#[tokio::test]
async fn a_broadcast_that_makes_no_sense_is_passed_over() {
    let (_directory, path) = place();
    let (one, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    let mut listener = BroadcastListener::new(&one, &key("e")).await;
    let file = Connection::open(&path).unwrap();
    for nonsense in [
        "VALUES ('default', 'e', 0, x'00', 'reload', 'test', '1')",
        "VALUES ('default', 'e', 0, zeroblob(16), char(10), 'test', '1')",
        "VALUES ('default', 'e', 0, zeroblob(16), 'reload', '', '1')",
        "VALUES ('default', '', 0, zeroblob(16), 'reload', 'test', '1')",
        "VALUES ('default', 'e', 0, zeroblob(16), 'reload', 'test', CAST(x'ff' AS TEXT))",
    ] {
        let columns = "namespace, name, said_at_ns, id, channel, sender, payload";
        file.execute(&format!("INSERT INTO broadcast ({columns}) {nonsense}"), ()).unwrap();
    }
    say(&other, &key("e"), "1").await.unwrap();
    assert!(matches!(listener.next().await, PubSubEvent::Broadcast(broadcast) if &*broadcast.payload == "1"));
}

#[tokio::test]
async fn a_file_of_the_second_version_is_brought_up_to_date_while_others_use_it() {
    let (_directory, path) = place();
    let old = Connection::open(&path).unwrap();
    old.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    old.execute_batch(include_str!("../../src/schema.sql")).unwrap();
    old.execute_batch(include_str!("../../src/schema_messages.sql")).unwrap();
    old.execute_batch("INSERT INTO mailbox (namespace, name, waiting) VALUES ('default', 'e', 0)").unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let mut listener = BroadcastListener::new(&store, &key("e")).await;
    say(&store, &key("e"), "1").await.unwrap();
    assert_eq!(listener.payload().await, "1");
    assert_eq!(count(&path, "mailbox"), 1, "what it held is still there");
    assert_eq!(old.execute("UPDATE mailbox SET waiting = 1", ()).unwrap(), 1, "and can still be used");
}
