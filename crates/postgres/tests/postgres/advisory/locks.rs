//! What is locked, for whom, and how often.

use futures_util::future::join_all;
use tenure::store::StoreErrorKind;
use tenure_core::{CampaignReply, WriteOutcome};
use tenure_testkit::postgres::{PostgresServer, SqlSession};

use super::support::{PASSWORD, ROLE, SERVER, StoreCandidate, id, lockers, locks, open, options, until, url};

#[tokio::test]
async fn a_lock_is_taken_once_however_often_it_is_asked_for() {
    let database = SERVER.new_database();
    let candidate = StoreCandidate::at(&url(&database), "4242", "one");
    let term = candidate.granted().await;
    for _ in 0..5 {
        assert_eq!(candidate.granted().await, term);
        candidate.keeps(term).await;
    }
    assert_eq!(locks(&database, "true"), 1);
    candidate.resign().await.unwrap();
    assert_eq!(locks(&database, "true"), 0, "one release frees it");
    assert_eq!(lockers(&database, "true").len(), 0, "no mark is left");
}

#[tokio::test]
async fn candidates_of_one_process_are_rivals_although_they_share_a_session() {
    let database = SERVER.new_database();
    let one = StoreCandidate::at(&url(&database), "4242", "one");
    let other = StoreCandidate::new(&one.store, "4242", "other");
    let term = one.granted().await;
    assert_eq!(other.held().await.leader.unwrap().candidate, id("one"));
    other.resign().await.unwrap();
    one.keeps(term).await;
    assert_eq!(locks(&database, "true"), 1);
    one.resign().await.unwrap();
    assert!(other.granted().await > term);
    let sessions = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = 'candidate'";
    assert_eq!(database.sql(sessions).len(), 1, "one session for all");
}

#[tokio::test]
async fn terms_grow_although_grants_come_in_batches_and_at_once() {
    let database = SERVER.new_database();
    let handles: Vec<_> = (0..4).map(|_| open(&url(&database))).collect();
    let mut last = [0; 8];
    for _ in 0..10 {
        let field = |store| (1..=8).map(move |lock: u8| StoreCandidate::new(store, &lock.to_string(), "one"));
        let fields: Vec<Vec<StoreCandidate>> = handles.iter().map(|store| field(store).collect()).collect();
        // Again until all are granted: nobody here listens to who gave a lock back, so each is kept unused for a moment.
        last = until("grants of all locks", async || {
            let rounds = fields.iter().map(|field| async move {
                let batch: Vec<_> = field.iter().map(StoreCandidate::request).collect();
                field[0].store.campaign(&batch).await
            });
            let mut now = last;
            for replies in join_all(rounds).await {
                for (lock, reply) in replies.iter().enumerate() {
                    if let Ok(CampaignReply::Granted { term }) = reply {
                        assert!(term.get() > last[lock], "{} after {}", term.get(), last[lock]);
                        assert_eq!(now[lock], last[lock], "there is one winner");
                        now[lock] = term.get();
                    }
                }
            }
            now.iter().zip(&last).all(|(now, last)| now > last).then_some(now)
        })
        .await;
        join_all(fields.iter().flatten().map(StoreCandidate::resign)).await.into_iter().for_each(Result::unwrap);
    }
    assert_eq!(locks(&database, "true"), 0);
}

/// The word that it was given back is there when the resignation is answered, or the next one would wait in case the last
/// holder does not know yet that it has lost it.
#[tokio::test]
async fn what_was_given_back_can_be_used_at_once_by_those_who_saw_its_holder() {
    const ROUNDS: usize = 200;
    let database = SERVER.new_database();
    let (mut own, mut others) = (open(&url(&database)), open(&url(&database)));
    let mut leader = StoreCandidate::new(&own, "1", "leader");
    let mut term = leader.granted().await;
    for _ in 0..ROUNDS {
        let next = StoreCandidate::new(&others, "1", "next");
        next.held().await;
        leader.resign().await.unwrap();
        let next_term = next.granted().await;
        assert!(next_term > term);
        (leader, term) = (next, next_term);
        std::mem::swap(&mut own, &mut others);
    }
}

#[tokio::test]
async fn whoever_gets_no_lock_draws_no_term() {
    let database = SERVER.new_database();
    let (one, other) =
        (StoreCandidate::at(&url(&database), "1", "one"), StoreCandidate::at(&url(&database), "1", "other"));
    one.granted().await;
    other.held().await;
    let next = || database.sql("SELECT pg_snapshot_xmax(pg_current_snapshot())").remove(0).remove(0);
    super::support::until("a time when nobody else draws one", async || {
        let before = next();
        for _ in 0..20 {
            other.held().await;
        }
        (next() == before).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_leader_is_known_to_a_role_that_may_do_nothing() {
    let database = SERVER.new_database();
    SERVER.create_role("stranger", "secret");
    let leader = StoreCandidate::at(&super::support::advisory(&database.url()), "nightly", "it's \"me\" 🦀");
    let term = leader.granted().await;
    let stranger =
        StoreCandidate::at(&super::support::advisory(&database.url_as("stranger", "secret")), "nightly", "x");
    for seen in [stranger.observe().await.lease.unwrap().leader, stranger.held().await.leader.unwrap()] {
        assert_eq!((seen.candidate, seen.term), (id("it's \"me\" 🦀"), term));
    }
    assert!(stranger.store.request_handover(&leader.key, None).await.unwrap());
}

#[tokio::test]
async fn a_server_without_room_for_more_locks_refuses_and_the_leader_stays() {
    let options = options().max_connections(20).setting("max_locks_per_transaction", "10");
    let server = PostgresServer::start_with(options);
    let url = super::support::advisory(&server.url_as(ROLE, PASSWORD));
    let leader = StoreCandidate::at(&url, "-1", "leader");
    let term = leader.granted().await;
    let mut hog = SqlSession::open(&server.url_as(ROLE, PASSWORD)).unwrap();
    let mut number = 1;
    while hog.run(&format!("SELECT pg_advisory_lock(n) FROM generate_series({number}, {number} + 9) AS n")).is_ok() {
        number += 10;
    }
    let batch: Vec<_> =
        (0..50).map(|lock| StoreCandidate::new(&leader.store, &format!("more {lock}"), "leader").request()).collect();
    let replies = leader.store.campaign(&batch).await;
    let errors: Vec<_> = replies.into_iter().filter_map(Result::err).collect();
    assert!(!errors.is_empty(), "there is no room");
    for error in &errors {
        assert_eq!(
            (error.kind(), error.write_outcome()),
            (StoreErrorKind::Unavailable, WriteOutcome::Refused),
            "{error}"
        );
        assert!(error.to_string().contains("53200"), "{error}");
    }
    leader.keeps(term).await;
    drop(hog);
    let one = StoreCandidate::new(&leader.store, "more 0", "leader");
    one.granted_soon().await;
    leader.keeps(term).await;
    // Nothing of the statement that failed is left.
    let held = server.sql("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1");
    assert_eq!(held.len(), 2);
}

#[tokio::test]
async fn a_server_without_room_for_more_sessions_refuses_and_the_leader_stays() {
    let server = PostgresServer::start_with(options().max_connections(12));
    let url = super::support::advisory(&server.url_as(ROLE, PASSWORD));
    let leader = StoreCandidate::at(&url, "1", "leader");
    let term = leader.granted().await;
    let mut crowd = Vec::new();
    while let Ok(session) = SqlSession::open(&server.url_as(ROLE, PASSWORD)) {
        crowd.push(session);
    }
    let late = StoreCandidate::at(&url, "1", "late");
    let error = late.campaign().await.unwrap_err();
    assert_eq!((error.kind(), error.write_outcome()), (StoreErrorKind::Unavailable, WriteOutcome::NotSent), "{error}");
    assert!(error.to_string().contains("53300"), "{error}");
    leader.keeps(term).await;
    drop(crowd);
    let until_there_is_room = async || late.campaign().await.ok();
    let reply = super::support::until("room for one more", until_there_is_room).await;
    assert!(matches!(reply, CampaignReply::Held(_)), "{reply:?}");
}
