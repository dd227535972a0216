//! Who is woken, and who is left in peace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::store::{Hint, RESERVATION};
use tenure::{Client, Store};
use tenure_testkit::bound::within;
use tenure_testkit::redis::{RedisServer, SentinelGroup};

use crate::support::{StoreCandidate, awake, held, key, listeners, next, open, term_of, until};

#[tokio::test]
async fn a_leader_that_was_elected_before_it_could_be_woken_hears_of_a_request_all_the_same() {
    let server = RedisServer::start();
    for n in 0..4 {
        let name = format!("e{n}");
        let client = Client::open(&server.url()).unwrap();
        let leader = client.election(&name).unwrap().candidate().start().unwrap();
        leader.elected().await.unwrap();
        let wake = || server.command(&["HGET", &format!("{{tenure:default:{name}}}:election"), "wake"]);
        until("a channel", async || (wake() != redis::Value::BulkString(Vec::new())).then_some(())).await;
        let begun = Instant::now();
        assert!(client.election(&name).unwrap().request_handover().await.unwrap());
        until("a hand-over", async || (!leader.is_leader()).then_some(())).await;
        // It renews every six seconds or so.
        within("a request", begun.elapsed(), Duration::from_secs(3));
    }
}

#[tokio::test]
async fn of_a_thousand_the_first_sixteen_are_woken_one_after_the_other() {
    const WOKEN: usize = 16;
    let server = RedisServer::start();
    assert_eq!(setting(&server, "notify-keyspace-events"), "", "it works without events of keys");
    let leader = StoreCandidate::new(&open(&server.url()), "e", "leader");
    leader.granted().await;
    let handles: Vec<Arc<dyn Store>> = (0..WOKEN + 2).map(|_| open(&server.url())).collect();
    let mut hints = Vec::new();
    for handle in &handles {
        hints.push(awake(handle).await);
    }
    let waiting: Vec<StoreCandidate> =
        (0..1_000).map(|n| StoreCandidate::new(&handles[n % handles.len()], "e", &format!("follower{n}"))).collect();
    // The first of each handle one after the other, and all others in any order.
    for (place, first) in waiting.iter().take(handles.len()).enumerate() {
        assert_eq!(first.held().await.rank, u32::try_from(place).unwrap());
        // Waits because who comes first is told by the millisecond.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    for (handle, theirs) in by_handle(&handles, &waiting[handles.len()..]) {
        let requests: Vec<_> = theirs.iter().map(|candidate| candidate.request()).collect();
        handle.campaign(&requests).await.into_iter().for_each(|reply| drop(held(reply)));
    }
    for (n, handle) in handles.iter().enumerate() {
        StoreCandidate::new(handle, &format!("own{n}"), "somebody").granted().await;
    }
    let published = server.calls("publish");

    leader.resign().await.unwrap();
    assert_eq!(server.calls("publish") - published, 17, "and one for whoever watches everything");
    assert_eq!(next(&mut hints[0]).await, Hint::at(key("e")));
    for (others, hints) in (0..).zip(&mut hints[1..WOKEN]) {
        let after = RESERVATION + Duration::from_millis(others * 125 / 2);
        assert_eq!(next(hints).await, Hint { key: Some(key("e")), after });
    }
    for (n, hints) in hints.iter_mut().enumerate() {
        // Messages keep their order: had anybody else been woken, it would hear of that first.
        assert!(leader.store.request_handover(&key(&format!("own{n}")), None).await.unwrap());
        assert_eq!(next(hints).await.key, Some(key(&format!("own{n}"))));
    }

    let mut winners = Vec::new();
    for (handle, theirs) in by_handle(&handles, &waiting) {
        let requests: Vec<_> = theirs.iter().map(|candidate| candidate.request()).collect();
        for (candidate, reply) in theirs.iter().zip(handle.campaign(&requests).await) {
            if term_of(&reply.unwrap()).is_some() {
                winners.push(candidate.id.to_string());
            }
        }
    }
    assert_eq!(winners, ["follower0"]);
}

#[tokio::test]
async fn a_stand_by_that_is_gone_is_passed_over_at_once() {
    let server = RedisServer::start();
    passes_over_the_gone(&server.url(), &server).await;
}

#[tokio::test]
async fn a_stand_by_that_is_gone_is_passed_over_at_once_under_sentinels() {
    let sentinels = SentinelGroup::start();
    passes_over_the_gone(&sentinels.url(), sentinels.primary()).await;
}

#[tokio::test]
async fn a_connection_that_was_killed_is_made_again_and_says_that_something_was_missed() {
    let server = RedisServer::start();
    let (one, other) = (open(&server.url()), open(&server.url()));
    let leader = StoreCandidate::new(&one, "e", "leader");
    leader.granted().await;
    let mut hints = awake(&other).await;
    let follower = StoreCandidate::new(&other, "e", "follower");
    follower.held().await;

    server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    assert_eq!(next(&mut hints).await, Hint::anywhere());
    follower.held().await;
    leader.resign().await.unwrap();
    assert_eq!(next(&mut hints).await, Hint::at(key("e")));
}

#[tokio::test]
async fn a_successor_that_leaves_passes_the_lease_on() {
    let server = RedisServer::start();
    let handles = [(); 3].map(|()| open(&server.url()));
    let leader = StoreCandidate::new(&handles[0], "e", "leader");
    leader.granted().await;
    let (mut first_hints, mut second_hints) = (awake(&handles[1]).await, awake(&handles[2]).await);
    let (first, second) =
        (StoreCandidate::new(&handles[1], "e", "first"), StoreCandidate::new(&handles[2], "e", "second"));
    assert_eq!([first.held().await.rank, second.held().await.rank], [0, 1]);
    leader.resign().await.unwrap();
    assert_eq!(next(&mut first_hints).await, Hint::at(key("e")));
    assert_eq!(next(&mut second_hints).await, Hint { key: Some(key("e")), after: RESERVATION });
    first.resign().await.unwrap();
    assert_eq!(next(&mut second_hints).await, Hint::at(key("e")));
    assert_eq!(leader.observe().await.reserved_for, Some(second.id.clone()));
    second.granted().await;
}

/// Somebody that would be next has gone without a word.
async fn passes_over_the_gone(url: &str, server: &RedisServer) {
    let leader = StoreCandidate::new(&open(url), "e", "leader");
    leader.granted().await;
    let (gone, present) = (open(url), open(url));
    let (gone_hints, mut hints) = (awake(&gone).await, awake(&present).await);
    assert_eq!(StoreCandidate::new(&gone, "e", "gone").held().await.rank, 0);
    let second = StoreCandidate::new(&present, "e", "second");
    assert_eq!(second.held().await.rank, 1);
    drop((gone, gone_hints));
    listeners(server, 1).await;

    leader.resign().await.unwrap();
    assert_eq!(next(&mut hints).await, Hint::at(key("e")));
    second.granted().await;
}

fn by_handle<'a>(
    handles: &'a [Arc<dyn Store>],
    candidates: &'a [StoreCandidate],
) -> impl Iterator<Item = (&'a Arc<dyn Store>, Vec<&'a StoreCandidate>)> {
    handles.iter().map(|handle| {
        let theirs = candidates.iter().filter(|candidate| Arc::ptr_eq(&candidate.store, handle)).collect();
        (handle, theirs)
    })
}

fn setting(server: &RedisServer, name: &str) -> String {
    let [_, value]: [String; 2] = redis::from_redis_value(server.command(&["CONFIG", "GET", name])).unwrap();
    value
}
