//! PostgreSQL as a store to the fault cases.

use std::time::Duration;

use tenure_testkit::postgres::{APP, ROLE, SqlError, SqlSession};
use tenure_testkit::running_store::RunningStore;
use tenure_testkit::stores::{Backend, Postgres};

const STORE: Postgres =
    Postgres { tables: |role| format!("CREATE TABLE leases (term bigint); GRANT SELECT, INSERT ON leases TO {role}") };

#[test]
fn candidates_may_do_what_was_granted_and_own_nothing() {
    let store = RunningStore::on(&STORE);
    let mut session = SqlSession::open(&store.url()).unwrap();
    let who = session.run("SELECT current_user, tableowner FROM pg_tables WHERE tablename = 'leases'").unwrap();
    assert_eq!(who, [[APP, ROLE].map(|name| Some(name.to_owned()))]);
    assert_eq!(session.run("DROP TABLE leases").unwrap_err().code(), Some("42501"));
}

#[test]
fn it_has_tables_answers_nothing_while_it_stalls_and_forgets_nothing() {
    let store = RunningStore::on(&STORE);
    let mut session = SqlSession::open(&store.url()).unwrap();
    session.run("INSERT INTO leases VALUES (7)").unwrap();
    let mut impatient = SqlSession::open(&store.url()).unwrap().with_patience(Duration::from_millis(50));
    let stall = store.stall();
    let silent = impatient.run("SELECT term FROM leases").unwrap_err();
    assert!(matches!(silent, SqlError::Silent(_)), "{silent}");
    drop(stall);
    assert_eq!(session.run("SELECT term FROM leases").unwrap(), [[Some("7".to_owned())]]);
}

#[test]
fn its_wall_clock_is_that_of_the_place() {
    let store = RunningStore::on(&STORE);
    let mut session = SqlSession::open(&store.url()).unwrap();
    let mut seconds = || {
        let rows = session.run("SELECT extract(epoch FROM clock_timestamp())::bigint").unwrap();
        rows[0][0].as_ref().unwrap().parse::<i64>().unwrap()
    };
    let before = seconds();
    store.wall_clock().jump_to(3_600);
    assert!((seconds() - before - 3_600).abs() < 600);
}

#[test]
fn each_place_has_a_store_of_its_own_and_other_ways_lead_there() {
    let [first, second] = [RunningStore::on(&STORE), RunningStore::on(&STORE)];
    assert_ne!(first.url(), second.url());
    assert!(first.path("postgres").exists());
    let detour = first.endpoint().detour();
    SqlSession::open(&detour.url).unwrap().run("INSERT INTO leases VALUES (7)").unwrap();
    let count =
        |store: &RunningStore| SqlSession::open(&store.url()).unwrap().run("SELECT term FROM leases").unwrap().len();
    assert_eq!([count(&first), count(&second)], [1, 0]);
    let abilities = STORE.abilities();
    assert!(!abilities.sees_death && !abilities.embedded && abilities.trusts_wall_clock);
}
