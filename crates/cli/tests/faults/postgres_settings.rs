//! A PostgreSQL server whose administrator has set what does not suit everybody.

use std::time::Duration;

use tenure::store::postgres::{Migration, PostgresConfig};
use tenure_testkit::eventually;
use tenure_testkit::postgres::{
    APP, APP_PASSWORD, PgBouncer, PoolMode, PostgresOptions, PostgresServer, ROLE, SqlSession,
};
use tenure_testkit::scenario::ELECTION;
use tenure_testkit::stores::StoreServer;
use tenure_testkit::test_timing::TestTiming;

use crate::postgres::STORE;
use crate::two_candidates::{TwoCandidates, refused};
use crate::{goes_on, scenario_at};

/// So short that no session could live with them, or do anything.
pub(crate) fn case_49_timeouts_of_the_role_and_the_database_are_not_ours() {
    let server = STORE.serve(PostgresOptions::default());
    server.sql(&format!("ALTER ROLE {APP} SET statement_timeout = '1ms'"));
    server.sql(&format!("ALTER ROLE {APP} SET lock_timeout = '1ms'"));
    server.sql("ALTER DATABASE postgres SET idle_in_transaction_session_timeout = '20ms'");
    // Last: sessions that begin after it may be idle for too long at any time.
    server.sql("ALTER DATABASE postgres SET idle_session_timeout = '20ms'");
    eventually("a statement of somebody else's that takes too long", || {
        let other = SqlSession::open(&StoreServer::url(&server));
        let slept = other.and_then(|mut other| other.run("SELECT pg_sleep(1)").map(drop));
        slept.is_err_and(|error| error.code() == Some("57014"))
    });
    let candidates = TwoCandidates::on(server);
    goes_on(&candidates.scenario, &candidates.first);
    assert!(
        candidates.scenario.events().iter().all(|event| event["event"] != "error"),
        "{:#?}",
        candidates.scenario.events()
    );
    candidates.ends_as_it_began();
}

/// The leader cannot renew, and says so now and then; it stops when its lease ends, and leads again when it can.
pub(crate) fn case_51_a_database_that_takes_no_writes_ends_leadership_until_it_does() {
    let candidates = TwoCandidates::with_timing(STORE.serve(PostgresOptions::default()), TestTiming::SHORT);
    candidates.server.sql("ALTER SYSTEM SET default_transaction_read_only = on");
    candidates.server.sql("SELECT pg_reload_conf()");
    candidates.leader_is_refused("25006");
    assert_eq!(candidates.leader.event("lost")["reason"], "expired");
    let told = errors(&candidates);
    // Waits because those who try again in a hot loop would do so now.
    assert!(!candidates.next.running.process.ends_within(Duration::from_secs(2)));
    let attempts = errors(&candidates) - told;
    println!("{attempts} errors of two candidates in two seconds");
    assert!(attempts <= 60, "{attempts} attempts in two seconds");
    candidates.server.sql("ALTER SYSTEM RESET default_transaction_read_only");
    candidates.server.sql("SELECT pg_reload_conf()");
    let second = candidates.scenario.next_start();
    assert!(second.term > candidates.first.term, "{second:?} after {:?}", candidates.first);
    candidates.scenario.judge();
}

fn errors(candidates: &TwoCandidates<PostgresServer>) -> usize {
    candidates.scenario.events().iter().filter(|event| event["event"] == "error").count()
}

/// There is no schema, another one, or one that this role may not use. What to do is in the error; once it is done, the
/// candidate comes in by itself.
pub(crate) fn case_52_what_is_missing_is_named_and_not_asked_for_in_a_hot_loop() {
    let options = || PostgresOptions::default().role(APP, APP_PASSWORD).setting("log_connections", "on");
    for (tables, option, words) in [
        ("", "", "there are no elections in the schema \"tenure\"; create them with `tenure migrate`"),
        (&*tables_in("tenure", APP), "&schema=other", "there are no elections in the schema \"other\""),
        (&*tables_in("tenure", ROLE), "", "GRANT USAGE ON SCHEMA \"tenure\" and EXECUTE ON ALL FUNCTIONS"),
    ] {
        let server = PostgresServer::start_with(options());
        let owner = |sql: &str| SqlSession::open(&server.url()).and_then(|mut owner| owner.run(sql)).map(drop);
        owner(tables).unwrap();
        let scenario = scenario_at(TestAddress(format!("{}{option}", StoreServer::url(&server))));
        let finished = scenario.finish(["status", ELECTION]);
        assert!(finished.code != Some(0) && finished.stderr.contains(words), "{finished:?}");
        let candidate = scenario.elect("a");
        refused(&candidate, words);
        let connections = || server.log().matches("connection authorized: user=app").count();
        let known = connections();
        // Waits because those who try again in a hot loop would do so now.
        assert!(!candidate.running.process.ends_within(Duration::from_secs(3)));
        let attempts = connections() - known;
        println!("{attempts} connections in three seconds, although {words}");
        assert!(attempts <= 60, "{attempts} connections in three seconds");
        let schema = option.split_once('=').map_or("tenure", |(_, schema)| schema);
        owner(&tables_in(schema, APP)).unwrap();
        candidate.event("elected");
    }
}

/// What lets this role hold elections in this schema.
fn tables_in(schema: &str, role: &str) -> String {
    let config = PostgresConfig::from_url(&"postgres://owner@127.0.0.1/postgres".parse().unwrap()).unwrap();
    Migration::new(&config.schema(schema).unwrap()).role(role).unwrap().script()
}

/// An address of a server that the test keeps.
struct TestAddress(String);

impl StoreServer for TestAddress {
    fn url(&self) -> String {
        self.0.clone()
    }

    fn stall(&self) -> Box<dyn std::any::Any> {
        Box::new(())
    }
}

/// The database wants transactions to be serializable. Ours read what is committed, except behind a pooler, where they may
/// be refused and are tried again.
pub(crate) fn case_53_an_isolation_that_the_database_demands_costs_nothing() {
    for isolation in ["repeatable read", "serializable"] {
        TwoCandidates::on(isolated(isolation)).ends_as_it_began();
        let server = isolated(isolation);
        let pooler = PgBouncer::start(&server, PoolMode::Transaction, 3);
        TwoCandidates::on(pooler).ends_as_it_began();
    }
}

fn isolated(isolation: &str) -> PostgresServer {
    let server = STORE.serve(PostgresOptions::default());
    server.sql(&format!("ALTER DATABASE postgres SET default_transaction_isolation = '{isolation}'"));
    eventually("the setting", || server.value("SHOW default_transaction_isolation").as_deref() == Some(isolation));
    server
}
