//! Processes that stand still: their kernel answers for them, and they do nothing.

use std::time::{Duration, Instant};

use super::support::{SERVER, StoreCandidate, locks, until, url};

/// A runtime that nobody drives is a process that is stopped, as far as the server can see.
#[test]
fn a_process_that_stands_still_loses_its_locks_after_its_ttl_and_not_before() {
    let database = SERVER.new_database();
    let ttl = Duration::from_secs(3);
    let stopped = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let leader = StoreCandidate::at(&url(&database), "1", "leader").with_ttl(ttl);
    let sent_at = Instant::now();
    let term = stopped.block_on(leader.granted());
    // What others do at the same time.
    let running = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rival = StoreCandidate::at(&url(&database), "1", "rival");
    let next = running.block_on(rival.granted_soon());
    let took = sent_at.elapsed();
    println!("a leader that stood still was succeeded after {took:?} of a ttl of {ttl:?}");
    assert!(took >= ttl, "nobody may lead while it trusts: {took:?}");
    assert!(next > term);
    stopped.block_on(leader.has_lost(term));
}

/// All locks end with the session, so the longest ttl decides when the server ends it.
#[test]
fn the_longest_ttl_of_a_process_decides() {
    let database = SERVER.new_database();
    let (short, long) = (Duration::from_secs(1), Duration::from_secs(5));
    let stopped = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let patient = StoreCandidate::at(&url(&database), "1", "leader").with_ttl(long);
    let hasty = StoreCandidate::new(&patient.store, "2", "leader").with_ttl(short);
    let sent_at = Instant::now();
    stopped.block_on(async {
        patient.granted().await;
        hasty.granted().await;
    });
    let running = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    running.block_on(StoreCandidate::at(&url(&database), "1", "rival").granted_soon());
    assert!(sent_at.elapsed() >= long, "{:?}", sent_at.elapsed());
}

/// A lease that nobody renews ends, although the process that holds it is well.
#[tokio::test]
async fn what_is_not_renewed_is_given_back() {
    let database = SERVER.new_database();
    let leader = StoreCandidate::at(&url(&database), "1", "leader").with_ttl(Duration::from_millis(300));
    let other = StoreCandidate::new(&leader.store, "2", "leader");
    let (brief, long) = (leader.granted().await, other.granted().await);
    until("the end of the lease", async || (locks(&database, "true") == 1).then_some(())).await;
    leader.has_lost(brief).await;
    other.keeps(long).await;
}
