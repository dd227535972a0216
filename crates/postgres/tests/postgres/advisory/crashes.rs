//! Followers that are woken when a leader is gone, and what their waiting costs the server.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use tenure::Client;
use tenure::store::Interest;
use tenure_testkit::postgres::SqlSession;

use super::support::{PASSWORD, PATIENCE, ROLE, SERVER, StoreCandidate, lockers, locks, until, url};

#[tokio::test]
async fn a_leader_that_is_gone_is_missed_at_once() {
    let database = SERVER.new_database();
    let leader = StoreCandidate::at(&url(&database), "1", "leader");
    let term = leader.granted().await;
    let follower = StoreCandidate::at(&url(&database), "1", "follower");
    let mut hints = follower.store.watch(Interest::Own);
    wait_for_it(&follower, &database).await;
    while futures_util::FutureExt::now_or_never(hints.next()).is_some() {}
    let gone_at = Instant::now();
    drop(leader);
    tokio::time::timeout(PATIENCE, hints.next()).await.expect("nobody was woken").unwrap();
    assert!(follower.granted_soon().await > term);
    println!("a leader that was gone was succeeded after {:?}", gone_at.elapsed());
}

#[tokio::test]
async fn a_few_of_many_wait_and_only_for_a_while() {
    const WAITERS: usize = 5;
    let database = SERVER.new_database();
    let ttl = Duration::from_secs(4);
    let leader = StoreCandidate::at(&url(&database), "1", "leader");
    leader.granted().await;
    let followers: Vec<StoreCandidate> =
        (0..8).map(|_| StoreCandidate::at(&url(&database), "1", "follower").with_ttl(ttl)).collect();
    let _hints: Vec<_> = followers.iter().map(|follower| follower.store.watch(Interest::Own)).collect();
    for follower in &followers {
        follower.held().await;
    }
    until("those who wait", async || (locks(&database, "NOT granted") > 0).then_some(())).await;
    until("all others to stop waiting", async || (locks(&database, "NOT granted") == WAITERS).then_some(())).await;
    // The others have asked over the session they have.
    let sessions = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = 'candidate'";
    until("the end of all other second connections", async || {
        (database.sql(sessions).len() == followers.len() + 1 + WAITERS).then_some(())
    })
    .await;
    // Nobody keeps the server from clearing up for longer than half the ttl.
    let pinned = "SELECT pid, query_start FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() \
                  AND datname = current_database() AND usename = 'candidate' AND wait_event_type = 'Lock'";
    let first = until("a wait", async || database.sql(pinned).pop()).await;
    until("its end", async || (!database.sql(pinned).contains(&first)).then_some(())).await;
}

#[tokio::test]
async fn a_waiter_that_is_dead_keeps_nothing() {
    let database = SERVER.new_database();
    let leader = StoreCandidate::at(&url(&database), "1", "leader");
    leader.granted().await;
    let follower = StoreCandidate::at(&url(&database), "1", "follower");
    let hints = follower.store.watch(Interest::Own);
    wait_for_it(&follower, &database).await;
    // It is gone, and its server process has not noticed.
    let waiter = lockers(&database, "NOT granted").remove(0);
    drop((follower, hints));
    leader.resign().await.unwrap();
    let mut other = SqlSession::open(&database.url_as(ROLE, PASSWORD)).unwrap();
    until(&format!("the lock that process {waiter} waited for"), async || {
        (other.run("SELECT pg_try_advisory_lock(1)").unwrap()[0][0].as_deref() == Some("t")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_resigns_is_succeeded_at_once() {
    let database = SERVER.new_database();
    // Whoever has resigned lets others go first for a while, so there is a fresh one for each round.
    let tenures = [(); 6].map(|()| Client::open(&url(&database)).unwrap());
    let elections = tenures.each_ref().map(|client| client.election("nightly").unwrap().candidate().start().unwrap());
    let leader = async || until("a leader", async || elections.iter().position(tenure::Candidacy::is_leader)).await;
    let mut took = Vec::new();
    for _ in 0..5 {
        let before = leader().await;
        let resigned_at = Instant::now();
        elections[before].resign().await.unwrap();
        until("another leader", async || {
            elections.iter().position(tenure::Candidacy::is_leader).filter(|now| *now != before)
        })
        .await;
        took.push(resigned_at.elapsed());
    }
    took.sort();
    println!("a leader that resigned was succeeded after {:?} (median), {:?} at most", took[2], took[4]);
    // A poll would take longer than the ttl, which is 30 s.
    assert!(took[2] < Duration::from_secs(5), "{took:?}");
}

/// Campaigns until it waits for the lock.
async fn wait_for_it(follower: &StoreCandidate, database: &tenure_testkit::postgres::PostgresDatabase<'_>) {
    follower.held().await;
    until("the one who waits", async || {
        follower.held().await;
        (locks(database, "NOT granted") == 1).then_some(())
    })
    .await;
}
