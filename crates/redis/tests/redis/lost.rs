//! Answers that are lost, and a network that is away: one round trip is lost, and nothing piles up.

use std::time::Duration;

use tenure::{Client, Event, EventKind, Timing};
use tenure_testkit::bound::within;
use tenure_testkit::proxy::{Direction, Proxy, ProxyFault};
use tenure_testkit::redis::RedisServer;

use crate::support::{StoreCandidate, TTL, granted, open, until};

#[tokio::test]
async fn a_grant_whose_answer_was_lost_costs_one_round_trip() {
    let server = RedisServer::start();
    let proxy = Proxy::before(server.address()).unwrap();
    let store = open(&format!("redis://{}", proxy.address()));
    // From here on there is a connection, and the server knows the script.
    StoreCandidate::new(&store, "another", "a").granted().await;
    let candidate = StoreCandidate::new(&store, "e", "a");

    proxy.inject_next(1, Direction::Replies, ProxyFault::Swallow);
    let mut counts = proxy.changes();
    tokio::select! {
        reply = candidate.campaign() => panic!("the answer was not lost: {reply:?}"),
        swallowed = counts.wait_for(|counts| counts.replies.swallowed > 0) => drop(swallowed.unwrap()),
    }
    let written: u64 = redis::from_redis_value(server.command(&["HGET", ELECTION, "term"])).unwrap();
    server.command(&["PEXPIRE", LEASE, "60000"]);
    let before = server.calls("evalsha");

    assert_eq!(candidate.granted().await.get(), written);
    assert_eq!(server.calls("evalsha") - before, 1);
    let left: u64 = redis::from_redis_value(server.command(&["PTTL", LEASE])).unwrap();
    assert!(Duration::from_millis(left) > TTL / 2, "the lease runs for {left} ms");
}

#[tokio::test]
async fn a_network_that_was_away_for_a_moment_is_used_again_at_once() {
    let server = RedisServer::start();
    let proxy = Proxy::before(server.address()).unwrap();
    let leader = StoreCandidate::new(&open(&format!("redis://{}", proxy.address())), "e", "a");
    let term = leader.granted().await;

    proxy.black_hole();
    // What a leader does: it gives up each request in time for the next one.
    for _ in 0..6 {
        let answer = tokio::time::timeout(Duration::from_millis(200), leader.renew(term)).await;
        assert!(answer.is_err(), "an answer out of a black hole: {answer:?}");
    }
    proxy.heal();
    let healed = std::time::Instant::now();
    until("an answer", async || tokio::time::timeout(Duration::from_millis(200), leader.keeps(term)).await.ok()).await;
    within("an answer after the network is back", healed.elapsed(), Duration::from_secs(2));
}

#[tokio::test]
async fn a_connection_whose_answer_came_late_is_used_again() {
    let server = RedisServer::start();
    let proxy = Proxy::before(server.address()).unwrap();
    let leader = StoreCandidate::new(&open(&format!("redis://{}", proxy.address())), "e", "a");
    let term = leader.granted().await;

    proxy.inject(Direction::Replies, ProxyFault::Hold);
    let answer = tokio::time::timeout(Duration::from_millis(200), leader.renew(term)).await;
    assert!(answer.is_err(), "an answer that was held: {answer:?}");
    proxy.refuse();
    proxy.clear(Direction::Replies);
    // A new connection is refused, so only the old one can answer.
    until("an answer", async || leader.renew(term).await.ok()).await;
    leader.keeps(term).await;
}

#[tokio::test]
async fn a_server_that_answers_nonsense_is_asked_less_and_less_often() {
    let server = RedisServer::start();
    // Nobody ever had this term. Whoever campaigns is answered nonsense, and whoever resigns is not.
    server.command(&["SET", LEASE, "somebody", "PX", "600000"]);
    server.command(&["HSET", ELECTION, "holder", "somebody", "term", "0", "since", "1"]);
    let client = Client::open(&server.url()).unwrap();
    let timing = Timing::from_ttl(Duration::from_secs(2)).unwrap();
    let candidacy = client.election("e").unwrap().candidate().timing(timing).start().unwrap();
    let mut events = candidacy.events();
    let is_error = |event: &Event| matches!(event.kind, EventKind::Error { .. });
    let mut count = 0;
    let counting = async {
        while let Some(event) = events.next().await {
            count += usize::from(is_error(&event));
        }
    };
    // Waits because it is to be seen how often it asks.
    assert!(tokio::time::timeout(Duration::from_secs(4), counting).await.is_err(), "it stands on");
    assert!((5..48).contains(&count), "{count} errors in four seconds");

    server.command(&["DEL", LEASE, ELECTION]);
    until("a leader", async || candidacy.is_leader().then_some(())).await;
}

#[tokio::test]
async fn a_server_that_comes_back_finds_no_queue() {
    let server = RedisServer::start();
    let proxy = Proxy::before(server.address()).unwrap();
    let store = open(&format!("redis://{}", proxy.address()));
    let candidates: Vec<StoreCandidate> = (0..50).map(|n| StoreCandidate::new(&store, &format!("e{n}"), "a")).collect();
    let requests: Vec<_> = candidates.iter().map(StoreCandidate::request).collect();
    let terms: Vec<_> = store.campaign(&requests).await.into_iter().map(granted).collect();
    candidates[0].keeps(terms[0]).await;
    let before = server.calls("evalsha");

    // Nothing is lost: it all arrives when the network is back, as it does over TCP.
    proxy.inject(Direction::Requests, ProxyFault::Hold);
    for _ in 0..20 {
        for (candidate, term) in candidates.iter().zip(&terms) {
            let answer = tokio::time::timeout(Duration::from_millis(1), candidate.renew(*term)).await;
            assert!(answer.is_err(), "an answer to a request that was held: {answer:?}");
        }
    }
    proxy.heal();
    until("an answer", async || {
        tokio::time::timeout(Duration::from_millis(200), candidates[0].keeps(terms[0])).await.ok()
    })
    .await;
    let arrived = server.calls("evalsha") - before;
    assert!(arrived <= 5, "of 1000 renewals that were given up, {arrived} arrived");
}

const LEASE: &str = "tenure:default:e";
const ELECTION: &str = "{tenure:default:e}:election";
