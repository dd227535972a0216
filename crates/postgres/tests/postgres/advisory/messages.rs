//! Messages to the leader as notifications: plain JSON on plain channels, as participants of another make send and expect
//! them, at most once.

use std::future::poll_fn;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tenure::store::StoreErrorKind;
use tenure::{Candidacy, Client, Error, MessageState};
use tenure_testkit::postgres::SqlSession;
use tokio_postgres::{AsyncMessage, NoTls};

use super::support::{PASSWORD, PATIENCE, ROLE, SERVER, until, url};

/// A channel that would break out of any SQL it is pasted into.
const ODD: &str = r#"My "Events"; DROP TABLE t; --"#;

/// Stands in election 4242, and passes on the payloads of the messages it gets.
fn candidate(client: &Client, channel_name: &str) -> (Candidacy, Receiver<String>) {
    let (sender, receiver) = channel();
    let handler = move |message: tenure::Message, _: tenure::Leadership| {
        sender.send(message.payload.to_string()).unwrap();
    };
    let candidacy = client.election("4242").unwrap().candidate().on_message(channel_name, handler);
    (candidacy.start().unwrap(), receiver)
}

/// Notifies until something is heard: the leader may only just have begun to listen.
fn first_of(receiver: &Receiver<String>, mut notify: impl FnMut()) -> String {
    let deadline = std::time::Instant::now() + 2 * PATIENCE;
    loop {
        notify();
        if let Ok(payload) = receiver.recv_timeout(Duration::from_millis(200)) {
            return payload;
        }
        assert!(std::time::Instant::now() < deadline, "nothing was heard");
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[test]
fn what_others_notify_reaches_the_leader_and_nobody_else() {
    let database = SERVER.new_database();
    let (one, other) = (Client::open(&url(&database)).unwrap(), Client::open(&url(&database)).unwrap());
    let (leader, heard) = candidate(&one, ODD);
    let leader = tenure::blocking::Candidacy::from(leader);
    let leadership = leader.elected().unwrap();
    let (_follower, elsewhere) = candidate(&other, ODD);
    let mut foreigner = SqlSession::open(&database.url_as(ROLE, PASSWORD)).unwrap();
    let mut notify = |payload: &str| {
        foreigner.run(&format!("SELECT pg_notify({}, {})", quoted(ODD), quoted(payload))).unwrap();
    };
    let payload = r#"{"action": "it's \"refresh\""}"#;
    assert_eq!(first_of(&heard, || notify(payload)), payload);
    notify("not JSON");
    notify("[1]");
    let after = std::iter::from_fn(|| heard.recv_timeout(PATIENCE).ok()).find(|heard| heard != payload);
    assert_eq!(after.as_deref(), Some("[1]"), "what is not JSON is passed over");
    assert!(elsewhere.try_recv().is_err(), "a follower handles nothing");
    drop(leadership);
    leader.stop();
    assert_eq!(first_of(&elsewhere, || notify("2")), "2");
}

#[tokio::test]
async fn what_we_send_reaches_a_leader_of_another_make_as_plain_json() {
    let database = SERVER.new_database();
    let client = Client::open(&url(&database)).unwrap();
    database.sql("CREATE TABLE t ()");
    let (postgres, mut connection) = tokio_postgres::connect(&database.url_as(ROLE, PASSWORD), NoTls).await.unwrap();
    let reader = tokio::spawn(async move {
        loop {
            match poll_fn(|context| connection.poll_message(context)).await.unwrap().unwrap() {
                AsyncMessage::Notification(told) if told.channel() == ODD => return told.payload().to_owned(),
                _ => {}
            }
        }
    });
    postgres.batch_execute("SELECT pg_try_advisory_lock(4242)").await.unwrap();
    postgres.batch_execute(&format!("LISTEN \"{}\"", ODD.replace('"', "\"\""))).await.unwrap();
    let text = r#"{"say": "'); DROP TABLE t; --"}"#;
    client.election("4242").unwrap().send_json(ODD, text).await.unwrap();
    assert_eq!(tokio::time::timeout(2 * PATIENCE, reader).await.unwrap().unwrap(), text);
    assert_eq!(database.sql("SELECT count(*) FROM t").len(), 1, "the table is still there");
}

#[tokio::test]
async fn a_payload_is_as_long_as_the_server_takes_and_no_longer() {
    let database = SERVER.new_database();
    let client = Client::open(&url(&database)).unwrap();
    let text = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
    client.election("4242").unwrap().send_json("events", &text(7_999)).await.unwrap();
    match client.election("4242").unwrap().send_json("events", &text(8_000)).await.unwrap_err() {
        Error::Store(error) => assert_eq!(error.kind(), StoreErrorKind::TooLarge, "{error}"),
        other => panic!("{other}"),
    }
    assert!(!client.store().mailbox().unwrap().durable);
}

#[tokio::test]
async fn what_cannot_be_handled_is_a_dead_letter_in_the_leaders_memory_and_can_be_requeued() {
    let database = SERVER.new_database();
    let client = Client::open(&url(&database)).unwrap();
    let (sender, receiver) = channel();
    let handler = move |message: tenure::Message, _: tenure::Leadership| {
        sender.send(message.attempts).unwrap();
        Err::<(), &str>("never")
    };
    let candidacy = client.election("4242").unwrap().candidate().on_message("events", handler);
    let candidacy = candidacy.max_attempts(2).start().unwrap();
    candidacy.elected().await.unwrap();
    let dead_letter = until("a dead letter", async || {
        client.election("4242").unwrap().send("events", &1).await.unwrap();
        let dead_letters = client.election("4242").unwrap().messages(MessageState::DeadLetter, 10).await.unwrap();
        dead_letters.into_iter().next()
    })
    .await;
    assert_eq!((dead_letter.attempts, dead_letter.last_error.as_deref()), (2, Some("failed: never")));
    assert!(receiver.try_iter().count() >= 2, "it was tried again before that");
    assert_eq!(client.election("4242").unwrap().requeue(Some(&[dead_letter.id])).await.unwrap(), 1);
    candidacy.stop().await;
}
