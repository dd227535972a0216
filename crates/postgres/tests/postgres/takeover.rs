//! A table of the leader-election recipe that is there already.

use tenure::store::postgres::Migration;
use tenure_testkit::postgres::SqlSession;

use crate::recipe::{CallStyle, LeaseForeigner};
use crate::support::{APP, OwnDatabase, PASSWORD, POSTGRES, StoreCandidate, config, id};

/// The recipe's own tables and functions, as far as they matter here.
const RECIPE: &str = "
    CREATE TABLE leader_election (
        service_name VARCHAR(255) PRIMARY KEY, leader_id VARCHAR(255) NOT NULL, term INTEGER NOT NULL DEFAULT 1,
        last_heartbeat TIMESTAMPTZ NOT NULL DEFAULT NOW(), metadata JSONB DEFAULT '{}'
    );
    CREATE FUNCTION try_become_leader(
        p_service_name VARCHAR(255), p_candidate_id VARCHAR(255), p_timeout_seconds INTEGER DEFAULT 30
    ) RETURNS BOOLEAN LANGUAGE sql AS 'SELECT false';
    CREATE FUNCTION leader_heartbeat(p_service_name VARCHAR(255), p_leader_id VARCHAR(255)) RETURNS BOOLEAN
    LANGUAGE sql AS 'SELECT false';
    CREATE FUNCTION step_down(p_service_name VARCHAR(255), p_leader_id VARCHAR(255)) RETURNS BOOLEAN
    LANGUAGE sql AS 'SELECT false';
    INSERT INTO leader_election VALUES ('e', 'old', 7, NOW(), '{\"pid\": 12}'), ('dead', 'gone', 3, NOW() - interval '1 day', NULL);
";

#[tokio::test]
async fn rows_terms_and_rights_are_taken_over() {
    let place = OwnDatabase::empty();
    let reader = format!("reader_{}", place.database.name);
    POSTGRES.create_role(&reader, PASSWORD);
    let mut owner = SqlSession::open(&place.database.url()).unwrap();
    place.database.sql("GRANT CREATE ON SCHEMA public TO tenure");
    owner.run(RECIPE).unwrap();
    owner.run(&format!("GRANT ALL ON leader_election TO {APP}; GRANT SELECT ON leader_election TO {reader}")).unwrap();
    let before = rows(&mut owner);
    assert_eq!(before.len(), 2);

    // Rights come with the table, and not only for those who are named.
    Migration::new(&place.owner()).compat("public").unwrap().run().await.unwrap();
    for _ in 0..2 {
        assert_eq!(rows(&mut owner), before);
        Migration::new(&place.owner()).role(APP).unwrap().compat("public").unwrap().run().await.unwrap();
    }
    let mut readers = SqlSession::open(&place.database.url_as(&reader, PASSWORD)).unwrap();
    assert_eq!(rows(&mut readers), before);
    for forbidden in [
        "SELECT step_down('e', 'old')",
        "DELETE FROM leader_election",
        "SELECT FROM leader_election_before_tenure FOR UPDATE",
    ] {
        assert_eq!(readers.run(forbidden).unwrap_err().code(), Some("42501"), "{forbidden}");
    }

    let old = LeaseForeigner::new(&place, CallStyle::Named, "old", 30).await;
    let ours = StoreCandidate::new(&place.store(), "e", "ours");
    assert_eq!(ours.held().await.leader.unwrap().candidate, id("old"));
    assert!(old.beats().await, "it goes on as if nothing had happened");
    assert_eq!(old.reads().await, Some(("old".to_owned(), 7)));
    assert!(old.steps_down().await);
    assert!(ours.granted().await.get() > 7);
    let dead = StoreCandidate::new(&place.store(), "dead", "ours");
    assert!(dead.granted().await.get() > 3, "nobody waits for who is gone");
}

/// Without a word: its functions run with the rights of their owner.
#[tokio::test]
async fn a_recipe_of_another_owner_works_after_an_administrator_has_taken_it_over() {
    let place = OwnDatabase::empty();
    let (admin, client) = (format!("admin_{}", place.database.name), format!("client_{}", place.database.name));
    POSTGRES.create_role(&admin, PASSWORD);
    POSTGRES.create_role(&client, PASSWORD);
    place.database.sql(&format!("ALTER ROLE {admin} SUPERUSER; GRANT CREATE ON SCHEMA public TO {client}"));
    let mut owner = SqlSession::open(&place.database.url_as(&client, PASSWORD)).unwrap();
    owner.run(RECIPE).unwrap();

    let administrator = config(&place.database.url_as(&admin, PASSWORD));
    Migration::new(&administrator).compat("public").unwrap().run().await.unwrap();
    let answer = |rows: Vec<Vec<Option<String>>>| rows[0][0].clone().unwrap();
    assert_eq!(answer(owner.run("SELECT leader_heartbeat('e', 'old')").unwrap()), "t");
    assert_eq!(answer(owner.run("SELECT step_down('e', 'old')").unwrap()), "t");
    assert_eq!(answer(owner.run("SELECT try_become_leader('e', 'new')").unwrap()), "t");
    assert_eq!(answer(owner.run("SELECT leader_id FROM leader_election WHERE service_name = 'e'").unwrap()), "new");
}

/// What the table of old shows.
fn rows(session: &mut SqlSession) -> Vec<Vec<Option<String>>> {
    session
        .run("SELECT service_name, leader_id, term, last_heartbeat, metadata::jsonb FROM leader_election ORDER BY 1")
        .unwrap()
}
