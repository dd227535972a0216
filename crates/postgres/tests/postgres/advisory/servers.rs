//! Servers that end sessions, restart, are standbys, or become something else.

use std::time::Instant;

use futures_util::StreamExt;
use tenure::store::{Interest, StoreErrorKind};
use tenure_testkit::postgres::{PostgresServer, Standby, StopMode};

use super::support::{PASSWORD, PATIENCE, ROLE, SERVER, StoreCandidate, advisory, lockers, options, url};

#[tokio::test]
async fn a_session_that_is_terminated_is_missed_at_once_and_terms_grow() {
    let database = SERVER.new_database();
    let (one, other) =
        (StoreCandidate::at(&url(&database), "1", "one"), StoreCandidate::at(&url(&database), "1", "other"));
    let (mut one_hears, mut other_hears) = (one.store.watch(Interest::Own), other.store.watch(Interest::Own));
    let mut players = [(&one, &mut one_hears), (&other, &mut other_hears)];
    let (mut last, mut slowest, mut total) = (None, std::time::Duration::ZERO, std::time::Duration::ZERO);
    for round in 0..30 {
        let (leader, hints) = &mut players[round % 2];
        let term = leader.granted_soon().await;
        assert!(Some(term) > last, "{term:?} after {last:?}");
        while futures_util::FutureExt::now_or_never(hints.next()).is_some() {}
        let ended_at = Instant::now();
        for pid in lockers(&database, "objsubid = 1 AND granted") {
            database.sql(&format!("SELECT pg_terminate_backend({pid})"));
        }
        tokio::time::timeout(PATIENCE, hints.next()).await.expect("nobody told the leader");
        leader.has_lost(term).await;
        let took = ended_at.elapsed();
        (slowest, total) = (slowest.max(took), total + took);
        let follower = players[(round + 1) % 2].0;
        let next = follower.granted_soon().await;
        assert!(next > term, "{next:?} after {term:?}");
        players[round % 2].0.held().await;
        follower.keeps(next).await;
        follower.resign().await.unwrap();
        last = Some(next);
    }
    println!("a terminated leader knew after {:?} on average, {slowest:?} at most", total / 30);
}

#[tokio::test]
async fn a_server_that_restarts_keeps_no_locks_and_gives_higher_terms() {
    let server = PostgresServer::start_with(options());
    let url = advisory(&server.url_as(ROLE, PASSWORD));
    let candidate = StoreCandidate::at(&url, "1", "one");
    let mut last = candidate.granted().await;
    for mode in [Some(StopMode::Fast), Some(StopMode::Immediate), None] {
        match mode {
            Some(mode) => server.stop(mode),
            None => server.kill(),
        }
        candidate.has_lost(last).await;
        assert_eq!(candidate.campaign().await.unwrap_err().kind(), StoreErrorKind::Unavailable);
        server.restart();
        let term = candidate.granted_soon().await;
        assert!(term > last, "{mode:?}: {term:?} after {last:?}");
        last = term;
    }
}

#[tokio::test]
async fn a_standby_is_refused_until_it_is_promoted() {
    let primary = PostgresServer::start_with(options().durable());
    let leader = StoreCandidate::at(&advisory(&primary.url_as(ROLE, PASSWORD)), "1", "leader");
    let term = leader.granted().await;
    let standby = Standby::of(&primary);
    standby.await_all_of(&primary);
    let candidate = StoreCandidate::at(&advisory(&standby.url_as(ROLE, PASSWORD)), "1", "candidate");
    let error = candidate.campaign().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::ReadOnly, "{error}");
    assert!(error.to_string().contains("standby"), "{error}");
    primary.stop(StopMode::Immediate);
    standby.promote();
    leader.has_lost(term).await;
    assert!(candidate.granted_soon().await > term);
}

/// A session that is closed frees its locks, so none is closed while somebody may trust in one.
#[tokio::test]
async fn a_server_that_does_not_answer_takes_nothing_from_a_leader_that_trusts() {
    let server = PostgresServer::start_with(options());
    let leader = StoreCandidate::at(&advisory(&server.url_as(ROLE, PASSWORD)), "1", "leader");
    let term = leader.granted().await;
    let other = StoreCandidate::new(&leader.store, "2", "other");
    let paused = server.pause();
    // Waits because nothing that is asked is answered, and longer than a session without locks would be kept.
    let asked = tokio::time::timeout(std::time::Duration::from_secs(4), other.campaign()).await;
    assert!(asked.is_err(), "{asked:?}");
    let renewed = tokio::time::timeout(std::time::Duration::from_millis(50), leader.renew(term)).await;
    assert!(renewed.is_err(), "{renewed:?}");
    drop(paused);
    leader.keeps(term).await;
    // What nobody waited for was granted, and is found again.
    other.granted().await;
    assert_eq!(server.sql("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1").len(), 2);
}
