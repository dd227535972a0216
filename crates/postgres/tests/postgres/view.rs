//! The view that stands where the table of the leader-election recipe stood: what is read and written there by hand.

use std::time::Duration;

use tenure::Client;
use tenure::store::Change;
use tenure::store::postgres::Migration;
use tenure_testkit::postgres::SqlSession;

use crate::recipe::{CallStyle, LeaseForeigner};
use crate::support::{APP, OwnDatabase, StoreCandidate, until};

async fn place() -> OwnDatabase {
    let place = OwnDatabase::empty();
    place.database.sql("GRANT CREATE ON SCHEMA public TO tenure");
    Migration::new(&place.owner()).role(APP).unwrap().compat("public").unwrap().run().await.unwrap();
    place
}

fn owner(place: &OwnDatabase) -> SqlSession {
    SqlSession::open(&place.database.url()).unwrap()
}

#[tokio::test]
async fn a_row_that_is_deleted_by_hand_ends_a_foreign_leadership_and_nothing_else() {
    let place = place().await;
    let foreigner = LeaseForeigner::new(&place, CallStyle::Named, "foreign", 600).await;
    assert!(foreigner.tries().await);
    let ours = StoreCandidate::new(&place.store(), "e", "ours");
    let before = ours.held().await.leader.unwrap().term;
    owner(&place).run("DELETE FROM leader_election WHERE service_name = 'e'").unwrap();
    assert_eq!(foreigner.reads().await, None);
    assert!(!foreigner.beats().await, "it is told at its next heartbeat");
    let term = ours.granted().await;
    assert!(term > before, "{term:?} after {before:?}");
    let history = ours.store.history(&ours.key, 10).await.unwrap();
    let changes: Vec<_> = history.iter().map(|entry| (entry.change, entry.reason.as_str())).collect();
    let expected = [(Change::Elected, "granted"), (Change::Lost, "revoked"), (Change::Elected, "granted")];
    assert_eq!(changes, expected);
}

/// Its leader has to stop first, and is asked to.
#[tokio::test]
async fn a_row_of_ours_that_is_deleted_by_hand_is_handed_over_and_two_never_lead() {
    let place = place().await;
    let client = Client::open(&place.url()).unwrap();
    let candidacy = client.election("e").unwrap().candidate().start().unwrap();
    let first = candidacy.elected().await.unwrap();
    let mut owner = owner(&place);
    owner.run("DELETE FROM leader_election").unwrap();
    let foreigner = LeaseForeigner::new(&place, CallStyle::Named, "foreign", 600).await;
    until("the end of the first leadership", async || {
        let takes = foreigner.tries().await;
        assert!(!takes || !first.is_valid(), "two lead");
        (takes || !first.is_valid()).then_some(())
    })
    .await;
    candidacy.stop().await;
}

#[tokio::test]
async fn whatever_is_deleted_terms_do_not_fall_and_somebody_can_lead() {
    let place = place().await;
    let ours = StoreCandidate::new(&place.store(), "e", "ours");
    ours.granted().await;
    ours.resign().await.unwrap();
    let before = ours.granted().await;
    place.database.sql("DELETE FROM tenure.election");
    let term = ours.granted().await;
    assert!(term > before, "{term:?} after {before:?}");
    place.database.sql("TRUNCATE tenure.election");
    assert!(ours.granted().await > term);
    assert_eq!(ours.store.history(&ours.key, 100).await.unwrap().len(), 5);
}

#[tokio::test]
async fn what_cannot_be_written_by_hand_is_refused_with_a_sentence() {
    let place = place().await;
    let foreigner = LeaseForeigner::new(&place, CallStyle::Named, "foreign", 600).await;
    assert!(foreigner.tries().await);
    let mut owner = owner(&place);
    for (statement, words) in [
        ("INSERT INTO leader_election VALUES ('new', 'a', 1, now(), '{}')", "try_become_leader"),
        ("UPDATE leader_election SET leader_id = 'other'", "try_become_leader"),
        ("UPDATE leader_election SET term = 99", "try_become_leader"),
        ("UPDATE leader_election SET last_heartbeat = now() + interval '1 day'", "leader_heartbeat"),
        ("TRUNCATE leader_election", "not a table"),
    ] {
        let error = owner.run(statement).unwrap_err().to_string();
        assert!(error.contains(words), "{statement}: {error}");
    }
    assert!(foreigner.beats().await);
    let metadata = "UPDATE leader_election SET metadata = '{\"url\": \"http://a\"}' WHERE service_name = 'e'";
    owner.run(metadata).unwrap();
    let shown = "SELECT metadata ->> 'url', pg_typeof(metadata), pg_typeof(term) FROM leader_election";
    let shown: Vec<_> = owner.run(shown).unwrap().into_iter().flatten().flatten().collect();
    assert_eq!(shown, ["http://a", "jsonb", "integer"], "as in the table of old");
}

#[tokio::test]
async fn metadata_stay_when_another_client_of_the_recipe_takes_over() {
    let place = place().await;
    let first = LeaseForeigner::new(&place, CallStyle::Named, "first", 1).await;
    assert!(first.tries().await);
    let mut owner = owner(&place);
    owner.run("UPDATE leader_election SET metadata = '{\"pid\": 12}'").unwrap();
    let second = LeaseForeigner::new(&place, CallStyle::Positional, "second", 600).await;
    until("the end of the first lease", async || second.tries().await.then_some(())).await;
    let kept = owner.run("SELECT leader_id, metadata::text FROM leader_election").unwrap();
    assert_eq!(kept, [[Some("second".to_owned()), Some("{\"pid\": 12}".to_owned())]]);
}

const TABLE: &str = "CREATE TABLE public.leader_election (
        service_name VARCHAR(255) PRIMARY KEY, leader_id VARCHAR(255) NOT NULL, term INTEGER NOT NULL DEFAULT 1,
        last_heartbeat TIMESTAMPTZ NOT NULL DEFAULT NOW(), metadata JSONB DEFAULT '{}'
    )";

#[tokio::test]
async fn how_long_a_lease_that_was_taken_over_lasts_is_learned_from_those_who_know() {
    let place = OwnDatabase::empty();
    place.database.sql("GRANT CREATE ON SCHEMA public TO tenure");
    let mut owner = owner(&place);
    owner.run(TABLE).unwrap();
    owner
        .run(
            "INSERT INTO public.leader_election (service_name, leader_id, last_heartbeat) VALUES \
             ('beats', 'old', now() - interval '10 seconds'), ('slow', 'old', now() - interval '29 seconds'), \
             ('challenged', 'old', now() - interval '10 seconds'), ('stale', 'old', now() - interval '40 seconds')",
        )
        .unwrap();
    Migration::new(&place.owner()).role(APP).unwrap().compat("public").unwrap().run().await.unwrap();
    let ttl = async |service: &str| {
        let lease = StoreCandidate::new(&place.store(), service, "ours").observe().await.lease.unwrap();
        assert_eq!(lease.leader.candidate.as_str(), "old");
        lease.ttl.unwrap()
    };
    let foreigner = async |name: &str, service: &str, timeout| {
        LeaseForeigner::new(&place, CallStyle::Named, name, timeout).await.in_service(service)
    };
    assert_eq!(ttl("beats").await, Duration::from_secs(90), "nobody has told yet");
    assert!(foreigner("old", "beats", 30).await.beats().await);
    let learned = ttl("beats").await;
    assert!(learned >= Duration::from_secs(30) && learned < Duration::from_secs(60), "{learned:?}");
    assert!(foreigner("old", "slow", 90).await.beats().await);
    let learned = ttl("slow").await;
    assert!(learned > Duration::from_secs(80) && learned <= Duration::from_secs(90), "{learned:?}");
    assert!(!foreigner("new", "challenged", 30).await.tries().await, "it has beaten 10 s ago");
    assert_eq!(ttl("challenged").await, Duration::from_secs(30));
    assert!(foreigner("new", "stale", 30).await.tries().await, "as it would have been before");
}

#[tokio::test]
async fn terms_that_fit_do_not_fall_in_a_view_that_was_there_before() {
    let place = OwnDatabase::empty();
    place.database.sql("GRANT CREATE ON SCHEMA public TO tenure");
    let mut owner = owner(&place);
    owner.run(TABLE).unwrap();
    owner.run("INSERT INTO public.leader_election VALUES ('e', 'foreign', 41, now(), '{\"a\": 1}')").unwrap();
    Migration::new(&place.owner()).role(APP).unwrap().compat("public").unwrap().run().await.unwrap();
    let foreigner = LeaseForeigner::new(&place, CallStyle::Named, "foreign", 600).await;
    assert_eq!(foreigner.reads().await, Some(("foreign".to_owned(), 41)));

    // As an earlier version left it.
    owner
        .run(
            "DROP VIEW public.leader_election; UPDATE tenure.election SET transitions = 2; \
             UPDATE tenure.version SET version = 2; \
             CREATE VIEW public.leader_election AS SELECT name::varchar(255) AS service_name, \
                 leader::varchar(255) AS leader_id, last_term AS term, expires_at AS last_heartbeat, \
                 metadata::json AS metadata FROM tenure.election; \
             GRANT SELECT ON public.leader_election TO app",
        )
        .unwrap();
    for _ in 0..2 {
        Migration::new(&place.owner()).compat("public").unwrap().run().await.unwrap();
        let (_, term) = foreigner.reads().await.expect("who could read it still can");
        assert_eq!(term, 43);
    }
}
