//! A server behind PgBouncer.

use std::time::Duration;

use tenure_testkit::postgres::{PgBouncer, PoolMode, PostgresOptions, PostgresServer, SqlError, SqlSession};

#[test]
fn two_clients_share_a_connection_where_it_is_given_back_after_each_transaction() {
    let server = PostgresServer::start();
    let bouncer = PgBouncer::start(&server, PoolMode::Transaction, 1);
    let [mut first, mut second] = [&bouncer, &bouncer].map(|bouncer| SqlSession::open(&bouncer.url()).unwrap());
    assert_eq!(backend(&mut first), backend(&mut second));
    assert_eq!(server.backends().len(), 1);
    // A transaction keeps it.
    first.run("BEGIN").unwrap();
    let mut impatient = second.with_patience(Duration::from_millis(50));
    assert!(matches!(impatient.run("SELECT 1"), Err(SqlError::Silent(_))));
    first.run("COMMIT").unwrap();
}

#[test]
fn a_client_has_a_connection_to_itself_where_it_is_given_back_at_the_end() {
    let server = PostgresServer::start();
    let bouncer = PgBouncer::start(&server, PoolMode::Session, 2);
    let [mut first, mut second] = [&bouncer, &bouncer].map(|bouncer| SqlSession::open(&bouncer.url()).unwrap());
    assert_ne!(backend(&mut first), backend(&mut second));
}

#[test]
fn there_are_no_transactions_where_it_is_given_back_after_each_statement() {
    let server = PostgresServer::start();
    let bouncer = PgBouncer::start(&server, PoolMode::Statement, 1);
    let mut session = SqlSession::open(&bouncer.url()).unwrap();
    assert!(session.run("BEGIN").is_err());
}

#[test]
fn it_asks_for_passwords_and_knows_databases_that_are_made_later() {
    let server = PostgresServer::start_with(PostgresOptions::default().role("a role", "p\"w"));
    let bouncer = PgBouncer::start(&server, PoolMode::Transaction, 1);
    let database = server.new_database();
    let mut session = SqlSession::open(&bouncer.url_for("a role", "p\"w", &database.name)).unwrap();
    let rows = session.run("SELECT current_user, current_database()").unwrap();
    assert_eq!(rows, [[Some("a role".to_owned()), Some(database.name)]]);
    assert!(SqlSession::open(&bouncer.url_as("a role", "another")).is_err());
}

#[test]
fn it_ends_when_it_is_dropped_and_answers_nothing_while_it_stands_still() {
    let server = PostgresServer::start();
    let bouncer = PgBouncer::start(&server, PoolMode::Transaction, 1);
    let mut session = SqlSession::open(&bouncer.url()).unwrap().with_patience(Duration::from_millis(50));
    let process = bouncer.process();
    let _pause = bouncer.pause();
    assert!(matches!(session.run("SELECT 1"), Err(SqlError::Silent(_))));
    drop(bouncer);
    assert!(process.is_dead());
}

fn backend(session: &mut SqlSession) -> String {
    session.run("SELECT pg_backend_pid()").unwrap()[0][0].clone().unwrap()
}
