//! Servers that forget: everything, or the lease only, or nothing; and one whose clock goes back as well.

use std::time::Duration;

use tenure::{Client, ElectionError, EventKind, Events, Timing};
use tenure_core::Anomaly;
use tenure_testkit::redis::{RedisOptions, RedisServer};
use tenure_testkit::scratch::Scratch;
use tenure_testkit::wall_clock::FakeWallClock;

use crate::support::{PATIENCE, StoreCandidate, key, open, until};

#[tokio::test]
async fn after_everything_was_flushed_the_leader_has_lost_and_terms_go_on_growing() {
    let server = RedisServer::start();
    let store = open(&server.url());
    let (leader, follower) = (StoreCandidate::new(&store, "e", "leader"), StoreCandidate::new(&store, "e", "follower"));
    let term = leader.granted().await;
    follower.held().await;

    server.command(&["FLUSHALL"]);
    assert_eq!(leader.has_lost(term).await, None);
    assert!(follower.granted().await > term);
    assert!(leader.has_lost(term).await > Some(term));
    assert_eq!(store.elections(&key("e").namespace).await.unwrap(), [key("e").name], "it is listed again");
}

#[tokio::test]
async fn after_a_restart_without_persistence_terms_go_on_growing() {
    let server = RedisServer::start();
    let leader = StoreCandidate::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;

    server.restart();
    let shown = until("an answer", async || leader.renew(term).await.ok()).await;
    assert_eq!(shown, tenure_core::RenewReply::NotHolder { current: None });
    assert!(StoreCandidate::new(&leader.store, "e", "follower").granted().await > term);
}

#[tokio::test]
async fn what_a_persistent_server_confirmed_survives_its_death() {
    let server = RedisServer::start_with(RedisOptions::default().persistent());
    let store = open(&server.url());
    let (leader, follower) = (StoreCandidate::new(&store, "e", "leader"), StoreCandidate::new(&store, "e", "follower"));
    let term = leader.granted().await;
    follower.held().await;
    let before = leader.observe().await;

    server.restart();
    until("an answer", async || leader.renew(term).await.ok()).await;
    leader.keeps(term).await;
    let after = leader.observe().await;
    assert_eq!((after.last_term, after.standing_by), (before.last_term, before.standing_by));
    assert_eq!(follower.held().await.leader.unwrap().term, term);
    assert_eq!(store.history(&key("e"), 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_lease_that_was_evicted_is_granted_under_a_higher_term() {
    let server = RedisServer::start();
    let store = open(&server.url());
    let (leader, follower) = (StoreCandidate::new(&store, "e", "leader"), StoreCandidate::new(&store, "e", "follower"));
    let term = leader.granted().await;
    server.command(&["CONFIG", "SET", "maxmemory-policy", "volatile-lru"]);
    // The lease is the only key that may go.
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    until("the lease to be evicted", async || {
        let _ = server.try_command(&["SET", "somebody:else", "x"]);
        (server.command(&["EXISTS", "tenure:default:e"]) == redis::Value::Int(0)).then_some(())
    })
    .await;

    assert_eq!(leader.has_lost(term).await, Some(term));
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert!(follower.granted().await > term);
    assert!(leader.has_lost(term).await > Some(term));
}

#[tokio::test]
async fn a_lease_whose_record_was_evicted_runs_out_as_if_it_were_foreign() {
    let server = RedisServer::start();
    let store = open(&server.url());
    let (leader, follower) = (StoreCandidate::new(&store, "e", "leader"), StoreCandidate::new(&store, "e", "follower"));
    let term = leader.granted().await;
    // What a policy that spares no key does.
    server.command(&["DEL", "{tenure:default:e}:election"]);

    assert_eq!(leader.has_lost(term).await, None);
    let seen = follower.held().await.leader.unwrap();
    assert!(seen.term > term && seen.candidate == leader.id, "{seen:?}");
    leader.has_lost(term).await;
    server.command(&["DEL", "tenure:default:e"]);
    assert!(follower.granted().await > seen.term);
}

#[tokio::test]
async fn terms_of_a_server_that_lost_its_data_and_its_time_are_refused() {
    let scratch = Scratch::new();
    let clock = FakeWallClock::at(scratch.path().join("clock"));
    let server = RedisServer::start_with(RedisOptions::default().wall_clock(&clock));
    let tenures = [0, 1].map(|_| Client::open(&server.url()).unwrap());
    let timing = Timing::from_ttl(Duration::from_secs(2)).unwrap();
    let [first, second] = tenures.each_ref().map(|client| {
        let candidacy = client.election("e").unwrap().candidate().timing(timing).start().unwrap();
        let events = candidacy.events();
        (candidacy, events)
    });
    let mut candidates = [first, second];
    let mut term = None;
    // One of them leads, and the other one has seen who it is.
    for (_, events) in &mut candidates {
        let seen = first_of(events, |event| match event {
            EventKind::Elected { term, .. } => Some(term),
            EventKind::Observed { leader } => leader.map(|leader| leader.term),
            _ => None,
        });
        let seen = seen.await;
        assert_eq!(*term.get_or_insert(seen), seen);
    }
    let term = term.unwrap();

    clock.jump_to(-3_600);
    server.command(&["FLUSHALL"]);
    for (candidate, events) in &mut candidates {
        let regression = first_of(events, |event| match event {
            EventKind::Error { error: ElectionError::Anomaly(Anomaly::Regressed { seen, shown }) } => {
                Some((seen, shown))
            }
            _ => None,
        });
        let (seen, shown) = regression.await;
        assert!(shown < term && seen == term, "{shown:?} was shown after {seen:?}");
        assert!(!candidate.is_leader());
    }

    clock.jump_to(0);
    let later = until("a leader", async || candidates.iter().find_map(|(candidate, _)| candidate.leadership())).await;
    assert!(later.term() > term, "{later:?} after {term:?}");
}

/// A script judges by the time of its beginning whether a key has run out, and sets expiries by the time of each command.
#[tokio::test]
async fn a_clock_that_is_set_back_in_the_middle_of_a_step_ends_no_lease() {
    const HOUR_S: i64 = 3_600;
    let scratch = Scratch::new();
    let clock = FakeWallClock::at(scratch.path().join("clock"));
    let server = RedisServer::start_with(RedisOptions::default().wall_clock(&clock));
    let store = open(&server.url());
    let (leader, follower) = (StoreCandidate::new(&store, "e", "leader"), StoreCandidate::new(&store, "e", "follower"));
    let term = leader.granted().await;
    // The server looks at its clock some tens of times for each request.
    for looks in 1..=120 {
        let offset_s = -HOUR_S * looks;
        clock.jump_after(looks, offset_s);
        let seen = follower.held().await.leader.unwrap();
        assert_eq!((seen.term, seen.candidate.as_str()), (term, "leader"), "after {looks} looks");
        clock.jump_to(offset_s);
        leader.keeps(term).await;
    }
}

/// Skips to the next event of interest.
async fn first_of<T>(events: &mut Events, wanted: impl Fn(EventKind) -> Option<T>) -> T {
    let search = async {
        loop {
            let event = events.next().await.expect("events go on");
            if let Some(found) = wanted(event.kind) {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, search).await.expect("an event that is waited for")
}
