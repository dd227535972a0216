//! Broadcasts beside locks and messages, and when the session ends.

use std::sync::mpsc::channel;

use tenure::ChannelName;
use tenure::blocking::Client;
use tenure_testkit::broadcast_listener::{BroadcastListener, say};
use tenure_testkit::store_candidate::key;

use super::support::{ROLE, SERVER, open, url};

#[tokio::test]
async fn when_the_session_is_ended_broadcasts_are_heard_again_over_the_next() {
    let database = SERVER.new_database();
    let (one, other) = (open(&url(&database)), open(&url(&database)));
    let mut listeners =
        [BroadcastListener::new(&*one, &key("e")).await, BroadcastListener::new(&*one, &key("4242")).await];
    say(&*other, &key("e"), "0").await.unwrap();
    assert_eq!(listeners[0].payload().await, "0");
    let sessions = format!("FROM pg_stat_activity WHERE datname = current_database() AND usename = '{ROLE}'");
    assert_eq!(database.sql(&format!("SELECT pid {sessions}")).len(), 2, "one for each handle");
    database.sql(&format!("SELECT pg_terminate_backend(pid) {sessions} AND query LIKE 'LISTEN %'"));
    for listener in &mut listeners {
        listener.resumes().await;
    }
    say(&*other, &key("e"), "1").await.unwrap();
    say(&*other, &key("4242"), "2").await.unwrap();
    assert_eq!((listeners[0].payload().await, listeners[1].payload().await), ("1".to_owned(), "2".to_owned()));
}

#[test]
fn messages_and_broadcasts_on_the_same_channel_do_not_meet() {
    let database = SERVER.new_database();
    let client = Client::open(&url(&database)).unwrap();
    let reload = ChannelName::new("reload").unwrap();
    let ((told, messages), (said, broadcasts)) = (channel(), channel());
    let candidacy = client
        .election("4242")
        .unwrap()
        .candidate()
        .on_message(reload.clone(), move |message, _| told.send(message.payload.to_string()))
        .on_broadcast(reload, move |broadcast| said.send(broadcast.payload.to_string()))
        .start()
        .unwrap();
    candidacy.elected().unwrap();
    candidacy.broadcasts("reload").unwrap().listening();
    client.election("4242").unwrap().broadcast("reload", "to all").unwrap();
    assert_eq!(broadcasts.recv().unwrap(), "\"to all\"");
    // The leader may only just have begun to listen to messages.
    let first = loop {
        client.election("4242").unwrap().send("reload", "to the leader").unwrap();
        if let Ok(first) = messages.recv_timeout(std::time::Duration::from_millis(200)) {
            break first;
        }
    };
    assert_eq!(first, "\"to the leader\"");
    assert!(broadcasts.try_recv().is_err(), "a message is no broadcast");
}
