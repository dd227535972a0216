//! Broadcasts when connections break and when rights are missing, and what they cost.

use std::time::Duration;

use tenure::store::{Interest, PubSubEvent, StoreErrorKind};
use tenure_testkit::redis::{RedisOptions, RedisServer, SentinelGroup};

use crate::broadcast_listener::{BroadcastListener, say};
use crate::support::{key, listeners, next, open, until};

#[tokio::test]
async fn a_connection_that_was_killed_is_made_again_and_broadcasts_are_heard_again() {
    let server = RedisServer::start();
    let (one, other) = (open(&server.url()), open(&server.url()));
    let mut listeners =
        [BroadcastListener::new(&*one, &key("e")).await, BroadcastListener::new(&*one, &key("f")).await];
    server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    for listener in &mut listeners {
        listener.resumes().await;
    }
    say(&*other, &key("e"), "1").await.unwrap();
    say(&*other, &key("f"), "2").await.unwrap();
    assert_eq!((listeners[0].payload().await, listeners[1].payload().await), ("1".to_owned(), "2".to_owned()));
}

/// The server passes what is published on to the subscribers of all its databases.
#[tokio::test]
async fn broadcasts_stay_in_their_database() {
    let server = RedisServer::start();
    let stores = [0, 1].map(|database| open(&format!("{}/{database}", server.url())));
    let mut listeners = Vec::new();
    for store in &stores {
        listeners.push(BroadcastListener::new(&**store, &key("e")).await);
    }
    // Each hears first what comes last.
    for (database, store) in stores.iter().enumerate().rev() {
        say(&**store, &key("e"), &database.to_string()).await.unwrap();
    }
    for (database, listener) in listeners.iter_mut().enumerate() {
        assert_eq!(listener.payload().await, database.to_string());
    }
}

#[tokio::test]
async fn after_a_failover_broadcasts_are_heard_again() {
    let sentinels = SentinelGroup::start();
    let (one, other) = (open(&sentinels.url()), open(&sentinels.url()));
    let mut listener = BroadcastListener::new(&*one, &key("e")).await;
    say(&*other, &key("e"), "0").await.unwrap();
    assert_eq!(listener.payload().await, "0");
    sentinels.primary().kill();
    // It may listen to more than one server until all agree on the primary, and what is said meanwhile may be lost.
    until("a primary that passes it on", async || {
        say(&*other, &key("e"), "1").await.ok()?;
        let heard = tokio::time::timeout(Duration::from_secs(1), listener.next()).await.ok()?;
        matches!(heard, PubSubEvent::Broadcast(broadcast) if &*broadcast.payload == "1").then_some(())
    })
    .await;
}

#[tokio::test]
async fn however_many_elections_are_listened_to_there_is_one_connection_for_pushes() {
    let server = RedisServer::start();
    let store = open(&server.url());
    let _hints = store.watch(Interest::Own);
    let mut listeners = Vec::new();
    for number in 0..50 {
        listeners.push(BroadcastListener::new(&*store, &key(&format!("e{number}"))).await);
    }
    say(&*store, &key("e49"), "1").await.unwrap();
    assert_eq!(listeners[49].payload().await, "1");
    assert_eq!(clients(&server, "pubsub"), 1);
    // The one that asks is there, too.
    assert!(clients(&server, "normal") <= 2);
    let subscribed = || {
        let channels = server.command(&["PUBSUB", "CHANNELS", "tenure::broadcasts:*"]);
        redis::from_redis_value::<Vec<String>>(channels).unwrap().len()
    };
    assert_eq!(subscribed(), 50);
    listeners.truncate(1);
    until("the others to be left", async || (subscribed() == 1).then_some(())).await;
    say(&*store, &key("e0"), "2").await.unwrap();
    assert_eq!(listeners[0].payload().await, "2");
}

#[tokio::test]
async fn who_may_not_hear_is_told_and_hints_go_on() {
    let rights = "on >secret ~* +@all &tenure::wake:* &tenure::changes";
    let server = RedisServer::start_with(RedisOptions::default().user(&format!("deaf {rights}")));
    let store = open(&server.url_as("deaf", "secret"));
    let mut changes = store.watch(Interest::All);
    let mut listener = BroadcastListener::begin(&*store, &key("e"));
    let PubSubEvent::Interrupted(error) = listener.next().await else { panic!("it may not listen") };
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
    assert_eq!(next(&mut changes).await.key, None, "it hears of changes");
    let refusal = say(&*store, &key("e"), "1").await.unwrap_err();
    assert_eq!(refusal.kind(), StoreErrorKind::Denied, "{refusal}");
    let _own = store.watch(Interest::Own);
    listeners(&server, 1).await;
}

#[tokio::test]
async fn a_pattern_that_tells_no_namespaces_apart_has_no_broadcasts_to_others() {
    let server = RedisServer::start();
    let store = open(&format!("{}?key_pattern={{name}}", server.url()));
    let elsewhere = tenure::store::ElectionKey { namespace: "other".parse().unwrap(), ..key("e") };
    assert_eq!(say(&*store, &elsewhere, "1").await.unwrap_err().kind(), StoreErrorKind::Configuration);
    assert!(matches!(BroadcastListener::begin(&*store, &elsewhere).next().await, PubSubEvent::Interrupted(_)));
    let mut listener = BroadcastListener::new(&*store, &key("e")).await;
    say(&*store, &key("e"), "1").await.unwrap();
    assert_eq!(listener.payload().await, "1");
}

fn clients(server: &RedisServer, kind: &str) -> usize {
    let list: String = redis::from_redis_value(server.command(&["CLIENT", "LIST", "TYPE", kind])).unwrap();
    list.lines().count()
}
