//! Jobs on servers that somebody else uses, and that are killed.

use std::time::Duration;

use tenure::store::StoreErrorKind;
use tenure::store::ledger::{Claimed, Opened, Tick};
use tenure_core::WriteOutcome;
use tenure_testkit::postgres::PostgresServer;

use crate::support::{APP, OwnDatabase, PASSWORD, StoreCandidate, assert_told, migrate, open, options, until};

#[tokio::test]
async fn a_row_that_somebody_keeps_locked_costs_no_tick_of_others() {
    let place = OwnDatabase::new().await;
    let store = place.store();
    let [blocked, free] = ["blocked", "free"].map(|election| StoreCandidate::new(&store, election, "a"));
    let terms = [blocked.granted().await, free.granted().await];
    blocked.open_job(terms[0]).await.unwrap();
    free.open_job(terms[1]).await.unwrap();
    let id = "tenure.election_id('default', 'blocked')";
    let locks = [
        format!("SELECT FROM tenure.election WHERE id = {id} FOR UPDATE"),
        format!("SELECT FROM tenure.job WHERE election = {id} FOR UPDATE"),
    ];
    for (second, lock) in (200..).step_by(10).zip(locks) {
        let mut session = place.database.session();
        session.run(&format!("BEGIN; {lock}")).unwrap();
        let batch = [
            blocked.as_claim(terms[0], second),
            free.as_claim(terms[1], second),
            blocked.as_claim(terms[0], second + 1),
        ];
        let mut replies = store.ledger().unwrap().claim(&batch).await;
        for waiting in [replies.remove(2), replies.remove(0)] {
            let words = ["another transaction holds a lock", "pg_locks"];
            assert_told(&waiting.unwrap_err(), StoreErrorKind::Unavailable, WriteOutcome::Refused, &words);
        }
        assert_eq!(replies.remove(0).unwrap(), Claimed::Granted);
        session.run("ROLLBACK").unwrap();
        assert_eq!(blocked.claim(terms[0], second).await.unwrap(), Claimed::Granted, "nothing has overtaken it");
    }
}

#[tokio::test]
async fn a_take_over_waits_for_a_claim_and_a_renewal_does_not() {
    let place = OwnDatabase::new().await;
    let (leader, other) =
        (StoreCandidate::new(&place.store(), "e", "a"), StoreCandidate::new(&place.store(), "e", "b"));
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    // As a claim does it, and then takes its time.
    let mut session = place.database.session();
    session.run("BEGIN; SELECT FROM tenure.election WHERE name = 'e' FOR KEY SHARE").unwrap();
    leader.keeps(term).await;
    let error = leader.resign().await.unwrap_err();
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Refused, &["another transaction holds a lock"]);
    session.run("COMMIT").unwrap();
    leader.resign().await.unwrap();
    other.granted().await;
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::NotHolder);
}

#[tokio::test]
async fn a_lease_that_runs_out_while_a_lock_is_waited_for_opens_nothing() {
    let place = OwnDatabase::new().await;
    let leader = StoreCandidate::new(&place.store(), "e", "a").with_ttl(Duration::from_millis(800));
    let term = leader.granted().await;
    let mut session = place.database.session();
    session.run("BEGIN; SELECT FROM tenure.election WHERE name = 'e' FOR UPDATE").unwrap();
    let opening = tokio::spawn({
        let leader = leader.clone();
        async move { leader.open_job(term).await }
    });
    until("an opening that waits", async || {
        let waiting =
            "SELECT true FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        place.database.sql(waiting).pop()
    })
    .await;
    until("the end of the lease", async || {
        place.database.sql("SELECT true FROM tenure.election WHERE expires_at <= clock_timestamp()").pop()
    })
    .await;
    session.run("ROLLBACK").unwrap();
    assert_eq!(opening.await.unwrap().unwrap(), Opened::NotHolder);
    assert_eq!(leader.jobs().await, []);
}

#[tokio::test]
async fn opening_jobs_once_more_writes_nothing() {
    let place = OwnDatabase::new().await;
    let leader = StoreCandidate::new(&place.store(), "e", "a");
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    let row = || place.value("SELECT ctid FROM tenure.job").unwrap();
    let before = row();
    leader.open_job(term).await.unwrap();
    assert_eq!(row(), before, "leaders do this every few seconds");
}

#[tokio::test]
async fn marks_survive_the_death_of_the_server() {
    let server = PostgresServer::start_with(options().durable());
    migrate(&server.url()).await;
    // Whatever the role has set.
    server.sql("ALTER ROLE app SET synchronous_commit = off");
    let leader = StoreCandidate::new(&open(&server.url_as(APP, PASSWORD)), "e", "leader");
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    for second in [190, 200] {
        assert_eq!(leader.claim(term, second).await.unwrap(), Claimed::Granted);
    }
    assert!(leader.give_back(term, 190).await.unwrap());
    server.kill();

    server.restart();
    let decided = until("an answer", async || leader.claim(term, 150).await.ok()).await;
    assert_eq!(decided, Claimed::Decided { mark: Tick::from_unix_s(200) });
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted, "it is its own, and has not ended");
    leader.resign().await.unwrap();
    let next = leader.granted().await;
    assert_eq!(leader.claim_again(next, 190).await.unwrap(), Claimed::Granted, "it was given back");
}
