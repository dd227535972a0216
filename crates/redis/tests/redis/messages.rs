//! Messages on servers that restart, run out of memory, move, and hold other things as well.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::stream::StreamExt;
use tenure::store::mailbox::AckOutcome;
use tenure::store::{
    AckReply, Hint, Interest, Mailbox, Message, MessageState, NewMessage, Received, StoreErrorKind, random_message_id,
};
use tenure::{Store, StoreError};
use tenure_core::{ChannelName, Sender, WriteOutcome};
use tenure_testkit::redis::{RedisCluster, RedisOptions, RedisServer};

use crate::support::{CHANNEL, StoreCandidate, assert_told, key, listeners, next, open, until};

pub(crate) fn mailbox(store: &Arc<dyn Store>) -> &dyn Mailbox {
    store.mailbox().unwrap()
}

pub(crate) fn new_message(election: &str, payload: &str) -> NewMessage {
    NewMessage {
        key: key(election),
        id: random_message_id(),
        channel: ChannelName::new(CHANNEL).unwrap(),
        sender: Sender::new("sender").unwrap(),
        payload: Arc::from(payload),
    }
}

pub(crate) async fn send(store: &Arc<dyn Store>, new_message: &NewMessage) -> Result<(), StoreError> {
    mailbox(store).send(std::slice::from_ref(new_message)).await.remove(0)
}

pub(crate) fn dead_letter() -> AckOutcome {
    AckOutcome::DeadLettered { attempt: 5, why: "never".to_owned() }
}

async fn listed(store: &Arc<dyn Store>, state: MessageState) -> Vec<String> {
    payloads(&mailbox(store).list(&key("e"), state, 100).await.unwrap())
}

fn payloads(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.payload.to_string()).collect()
}

#[tokio::test]
async fn messages_survive_the_death_of_a_persistent_server() {
    let server = RedisServer::start_with(RedisOptions::default().persistent());
    let store = open(&server.url());
    let leader = StoreCandidate::new(&store, "e", "leader");
    let term = leader.granted().await;
    let new_messages = ["1", "2", "3"].map(|payload| new_message("e", payload));
    for new_message in &new_messages {
        send(&store, new_message).await.unwrap();
    }
    leader.ack(term, new_messages[1].id, dead_letter()).await.unwrap();
    let failed = AckOutcome::Failed { attempt: 1, why: "no".to_owned() };
    leader.ack(term, new_messages[2].id, failed).await.unwrap();
    let before = leader.receives(term).await;
    assert_eq!(payloads(&before), ["1", "3"]);

    server.restart();
    let after = until("an answer", async || leader.try_receive(term).await.ok()).await;
    assert_eq!(after, Received::Messages(before));
    assert_eq!(listed(&store, MessageState::DeadLetter).await, ["2"]);
    for new_message in &new_messages {
        send(&store, new_message).await.unwrap();
    }
    assert_eq!(listed(&store, MessageState::Pending).await, ["1", "3"], "ids are remembered, too");
}

#[tokio::test]
async fn what_was_put_back_is_still_the_same_message() {
    let server = RedisServer::start();
    let store = open(&server.url());
    let leader = StoreCandidate::new(&store, "e", "leader");
    let term = leader.granted().await;
    let (first, second) = (new_message("e", "1"), new_message("e", "2"));
    send(&store, &first).await.unwrap();
    leader.ack(term, first.id, dead_letter()).await.unwrap();
    send(&store, &second).await.unwrap();
    assert_eq!(mailbox(&store).requeue(&key("e"), Some(&[first.id])).await.unwrap(), 1);
    send(&store, &first).await.unwrap();
    assert_eq!(listed(&store, MessageState::Pending).await, ["2", "1"]);
    assert_eq!(listed(&store, MessageState::DeadLetter).await, [""; 0]);
    for message in [&first, &second] {
        leader.ack(term, message.id, AckOutcome::Done).await.unwrap();
    }
    assert_eq!(server.command(&["EXISTS", "{tenure:default:e}:contents"]), redis::Value::Int(0), "nothing is left");
    send(&store, &first).await.unwrap();
    assert_eq!(listed(&store, MessageState::Pending).await, ["1"], "what was handled is forgotten");
}

#[tokio::test]
async fn a_server_without_memory_takes_no_messages_and_gives_them_out() {
    let server = RedisServer::start();
    let store = open(&server.url());
    let leader = StoreCandidate::new(&store, "e", "leader");
    let term = leader.granted().await;
    let (first, second) = (new_message("e", "1"), new_message("e", "2"));
    for new_message in [&first, &second] {
        send(&store, new_message).await.unwrap();
    }

    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let words = ["OOM", "raise maxmemory"];
    let error = send(&store, &new_message("e", "3")).await.unwrap_err();
    assert_told(&error, StoreErrorKind::Full, WriteOutcome::Refused, &words);
    send(&store, &first).await.unwrap();
    assert_eq!(payloads(&leader.receives(term).await), ["1", "2"]);
    for outcome in [dead_letter(), AckOutcome::Failed { attempt: 1, why: "no".to_owned() }] {
        let error = leader.ack(term, second.id, outcome).await.unwrap_err();
        assert_told(&error, StoreErrorKind::Full, WriteOutcome::Refused, &words);
    }
    assert_eq!(leader.ack(term, first.id, AckOutcome::Done).await.unwrap(), AckReply::Accepted { dropped: 0 });
    let left = leader.receives(term).await;
    assert_eq!((payloads(&left), left[0].attempts), (vec!["2".to_owned()], 0), "what was refused changed nothing");

    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    leader.ack(term, second.id, dead_letter()).await.unwrap();
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = mailbox(&store).requeue(&key("e"), None).await.unwrap_err();
    assert_told(&error, StoreErrorKind::Full, WriteOutcome::Refused, &words);
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(mailbox(&store).requeue(&key("e"), None).await.unwrap(), 1);
}

#[tokio::test]
async fn only_the_leader_is_told_and_only_of_messages() {
    let server = RedisServer::start();
    let (one, other, sender) = (open(&server.url()), open(&server.url()), open(&server.url()));
    let (mut own, mut messages) = (one.watch(Interest::Own), one.watch(Interest::Messages));
    let mut of_other = other.watch(Interest::Messages);
    listeners(&server, 2).await;
    for hints in [&mut messages, &mut of_other] {
        assert_eq!(next(hints).await, Hint::anywhere(), "what came before went unheard");
    }
    StoreCandidate::new(&one, "e", "leader").granted().await;
    StoreCandidate::new(&one, "another", "leader").granted().await;
    StoreCandidate::new(&other, "e", "follower").held().await;
    StoreCandidate::new(&other, "mine", "leader").granted().await;
    let published = server.calls("publish");

    let batch = ["1", "2", "3"].map(|payload| new_message("e", payload));
    assert!(mailbox(&sender).send(&batch).await.iter().all(Result::is_ok));
    assert_eq!(server.calls("publish") - published, 1, "once for all of them, and to the leader only");
    assert_eq!(next(&mut messages).await, Hint::at(key("e")));
    // Pushes keep their order: whatever else was told would have come first.
    send(&sender, &new_message("mine", "4")).await.unwrap();
    assert_eq!(next(&mut of_other).await, Hint::at(key("mine")));
    assert!(sender.request_handover(&key("another"), None).await.unwrap());
    assert_eq!(next(&mut own).await, Hint::at(key("another")));
    assert_eq!(messages.next().now_or_never(), None);
    send(&sender, &new_message("nobody leads here", "5")).await.unwrap();
    assert_eq!(server.calls("publish") - published, 3);
}

#[tokio::test]
async fn a_leader_that_nobody_could_wake_can_be_woken_once_it_has_looked() {
    let server = RedisServer::start();
    let (one, sender) = (open(&server.url()), open(&server.url()));
    let leader = StoreCandidate::new(&one, "e", "leader");
    let term = leader.granted().await;
    let mut hints = one.watch(Interest::Messages);
    assert_eq!(next(&mut hints).await, Hint::anywhere());
    assert_eq!(leader.receives(term).await, []);
    send(&sender, &new_message("e", "1")).await.unwrap();
    assert_eq!(next(&mut hints).await, Hint::at(key("e")));
    assert_eq!(payloads(&leader.receives(term).await), ["1"]);
}

#[tokio::test]
async fn a_message_costs_the_same_however_many_wait() {
    let server = RedisServer::start();
    let store = open(&server.url());
    let batch: Vec<NewMessage> = (0..2_000).map(|number| new_message("e", &number.to_string())).collect();
    assert!(mailbox(&store).send(&batch).await.iter().all(Result::is_ok));
    send(&store, &new_message("e", "one more")).await.unwrap();
    assert_eq!(server.calls("xrange"), 0, "nobody walked along the line");
}

#[tokio::test]
async fn keys_that_are_something_else_leave_the_others_alone() {
    let server = RedisServer::start();
    let store = open(&server.url());
    server.command(&["SET", "{tenure:default:middle}:messages", "mine"]);
    let mut replies = mailbox(&store).send(&["first", "middle", "last"].map(|name| new_message(name, "1"))).await;
    let error = replies.remove(1).unwrap_err();
    assert_told(
        &error,
        StoreErrorKind::Corrupt,
        WriteOutcome::Refused,
        &["election middle", "\"{tenure:default:middle}:messages\" is a string", "tenure forget middle"],
    );
    assert!(replies.iter().all(Result::is_ok), "{replies:?}");
}

#[tokio::test]
async fn messages_move_with_their_slot() {
    let cluster = RedisCluster::start();
    let store = open(&cluster.url());
    let leader = StoreCandidate::new(&store, "e", "leader");
    let term = leader.granted().await;
    let (first, second) = (new_message("e", "1"), new_message("e", "2"));
    send(&store, &first).await.unwrap();
    let lease = "tenure:default:e";
    let from = cluster.owner_of(lease);
    let to = cluster.nodes()[..3].iter().find(|node| node.port() != from.port()).unwrap();

    let moving = cluster.move_slot(cluster.slot_of(lease), from, to);
    while moving.move_keys(1) == 1 {
        // Some keys are here and some are there, and the server says so; the message is not sent twice.
        let _ = send(&store, &second).await;
    }
    moving.finish();
    until("an answer", async || send(&store, &second).await.ok()).await;
    assert_eq!(payloads(&leader.receives(term).await), ["1", "2"]);
    leader.ack(term, first.id, AckOutcome::Done).await.unwrap();
    assert_eq!(listed(&store, MessageState::Pending).await, ["2"]);
}
