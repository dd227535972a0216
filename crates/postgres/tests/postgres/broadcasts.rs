//! Broadcasts when connections break and behind poolers, and what they cost.

use tenure::store::{Interest, PubSubEvent, StoreErrorKind};
use tenure_testkit::postgres::{PgBouncer, PoolMode, PostgresServer};

use crate::broadcast_listener::{BroadcastListener, say};
use crate::support::{APP, OwnDatabase, PASSWORD, key, migrate, open, options, until};

#[tokio::test]
async fn a_connection_that_was_ended_is_made_again_and_broadcasts_are_heard_again() {
    let place = OwnDatabase::new().await;
    let (one, other) = (place.store(), place.store());
    let mut listeners =
        [BroadcastListener::new(&*one, &key("e")).await, BroadcastListener::new(&*one, &key("f")).await];
    let ended = place.database.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND query LIKE 'LISTEN %'",
    );
    assert_eq!(ended.len(), 1);
    for listener in &mut listeners {
        listener.resumes().await;
    }
    say(&*other, &key("e"), "1").await.unwrap();
    say(&*other, &key("f"), "2").await.unwrap();
    assert_eq!((listeners[0].payload().await, listeners[1].payload().await), ("1".to_owned(), "2".to_owned()));
}

#[tokio::test]
async fn however_many_elections_are_listened_to_there_are_two_connections() {
    let place = OwnDatabase::new().await;
    let store = place.store();
    let _hints = store.watch(Interest::Own);
    let mut listeners = Vec::new();
    for number in 0..50 {
        listeners.push(BroadcastListener::new(&*store, &key(&format!("e{number}"))).await);
    }
    say(&*store, &key("e49"), "1").await.unwrap();
    assert_eq!(listeners[49].payload().await, "1");
    let sql = format!("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = '{APP}'");
    assert_eq!(place.database.sql(&sql).len(), 2);
}

#[tokio::test]
async fn schemas_do_not_hear_each_other() {
    let place = OwnDatabase::new().await;
    let owner = place.owner().schema("other").unwrap();
    tenure::store::postgres::Migration::new(&owner).role(APP).unwrap().run().await.unwrap();
    let (here, there) = (place.store(), open(&format!("{}?schema=other", place.url())));
    let mut listener = BroadcastListener::new(&*here, &key("e")).await;
    say(&*there, &key("e"), "1").await.unwrap();
    say(&*here, &key("e"), "2").await.unwrap();
    assert_eq!(listener.payload().await, "2");
}

#[tokio::test]
async fn behind_a_pooler_of_transactions_one_can_speak_and_is_told_that_one_hears_nothing() {
    let server = PostgresServer::start_with(options());
    migrate(&server.url()).await;
    let pooler = PgBouncer::start(&server, PoolMode::Transaction, 5);
    let (pooled, direct) = (open(&pooler.url_as(APP, PASSWORD)), open(&server.url_as(APP, PASSWORD)));
    let mut listener = BroadcastListener::new(&*direct, &key("e")).await;
    say(&*pooled, &key("e"), "1").await.unwrap();
    assert_eq!(listener.payload().await, "1");

    for _ in 0..2 {
        let PubSubEvent::Interrupted(error) = BroadcastListener::begin(&*pooled, &key("e")).next().await else {
            panic!("nothing arrives")
        };
        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("pooler in transaction mode"), "{error}");
    }
}

#[tokio::test]
async fn after_a_restart_of_the_server_broadcasts_are_heard_again() {
    let server = PostgresServer::start_with(options());
    migrate(&server.url()).await;
    let (one, other) = (open(&server.url_as(APP, PASSWORD)), open(&server.url_as(APP, PASSWORD)));
    let mut listener = BroadcastListener::new(&*one, &key("e")).await;
    server.restart();
    listener.resumes().await;
    until("the server to take it", async || say(&*other, &key("e"), "1").await.ok()).await;
    assert_eq!(listener.payload().await, "1");
}
