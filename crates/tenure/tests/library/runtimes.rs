//! Every kind of runtime around the same library, and none.

use std::time::Duration;

use tenure::{Client, EventKind, MemoryStore, Timing};

use crate::support::{block_on, id};

/// Long enough for a machine that is busy.
fn timing() -> Timing {
    Timing::from_ttl(Duration::from_secs(4)).unwrap()
}

async fn a_whole_life() {
    let client = Client::with_store(MemoryStore::new()).unwrap();
    let start = |name| client.election("x").unwrap().candidate().timing(timing()).id(id(name)).start().unwrap();
    let one = start("one");
    let first = one.elected().await.unwrap();
    let other = start("other");
    let mut events = other.events();
    assert_eq!(one.current_leader().await.unwrap().unwrap().candidate, id("one"));
    one.resign().await.unwrap();
    first.cancelled().await;
    let second = other.elected().await.unwrap();
    assert!(second.term() > first.term() && other.is_leader() && !one.is_leader());
    while !matches!(events.next().await.unwrap().kind, EventKind::Elected { .. }) {}
    assert_eq!(other.run_if_leader_async(async |leadership| leadership.term()).await, Some(second.term()));
    other.stop().await;
    one.stop().await;
}

#[test]
fn a_runtime_of_many_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async { tokio::spawn(a_whole_life()).await.unwrap() });
}

#[test]
fn a_runtime_of_one_thread() {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(a_whole_life());
}

#[test]
fn an_executor_that_is_not_tokio() {
    block_on(a_whole_life());
}
