//! One server alone.

use std::net::TcpListener;
use std::time::Duration;

use tenure_testkit::postgres::{PostgresOptions, PostgresServer, SqlError, SqlSession, StopMode};
use tenure_testkit::{PATIENCE, eventually};

#[test]
fn it_answers_on_its_port() {
    let server = PostgresServer::start();
    let mut session = SqlSession::open(&server.url()).unwrap();
    let rows = session.run("SELECT current_user, NULL; SELECT current_database()").unwrap();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(rows, [vec![text("tenure"), None], vec![text("postgres")]]);
    session.run("CREATE TABLE a (b int)").unwrap();
    assert_eq!(server.address().port(), server.port());
    assert!(server.log().contains("ready to accept connections"), "{}", server.log());
}

#[test]
fn databases_know_nothing_of_each_other() {
    let server = PostgresServer::start();
    let [first, second] = [server.new_database(), server.new_database()];
    SqlSession::open(&first.url()).unwrap().run("CREATE TABLE a (b int)").unwrap();
    assert!(first.sql("SELECT * FROM a").is_empty());
    let missing = SqlSession::open(&second.url()).unwrap().run("SELECT * FROM a").unwrap_err();
    assert_eq!(missing.code(), Some("42P01"), "{missing}");
    assert_ne!(first.name, second.name);
}

#[test]
fn only_passwords_open_it_and_the_kit_comes_in_anyhow() {
    let password = "p@ss:/w'ord";
    let server = PostgresServer::start_with(PostgresOptions::default().role("a role", password));
    let mut session = SqlSession::open(&server.url_as("a role", password)).unwrap();
    assert_eq!(session.run("SELECT current_user").unwrap(), [[Some("a role".to_owned())]]);
    let refused = SqlSession::open(&server.url_as("a role", "another")).err().unwrap();
    assert_eq!(refused.code(), Some("28P01"), "{refused}");
    assert_eq!(server.value("SELECT current_user").as_deref(), Some("postgres"));
}

#[test]
fn while_it_is_paused_open_connections_answer_nothing_and_then_they_do() {
    let server = PostgresServer::start();
    let mut impatient = server.session("postgres").with_patience(Duration::from_millis(50));
    let pause = server.pause();
    let silent = impatient.run("SELECT 1").unwrap_err();
    assert!(matches!(silent, SqlError::Silent(_)), "{silent}");
    assert!(!server.is_primary());
    drop(pause);
    let mut patient = impatient.with_patience(PATIENCE);
    assert_eq!(patient.run("SELECT 2").unwrap(), [[Some("2".to_owned())]]);
    assert!(server.is_primary());
}

#[test]
fn after_a_kill_it_restarts_on_the_same_port_with_its_data() {
    let server = PostgresServer::start();
    let mut session = server.session("postgres");
    session.run("CREATE TABLE a (b int); INSERT INTO a VALUES (1)").unwrap();
    let [backend] = <[_; 1]>::try_from(server.backends()).ok().unwrap();
    let killed = server.process();
    server.kill();
    assert!(killed.is_dead() && backend.is_dead());
    assert!(session.run("SELECT 1").is_err() && server.try_sql("SELECT 1").is_err());
    server.restart();
    assert_ne!(server.process().pid, killed.pid);
    assert_eq!(server.value("SELECT b FROM a").as_deref(), Some("1"));
    assert!(SqlSession::open(&server.url()).is_ok());
    assert!(server.log().contains("automatic recovery in progress"), "{}", server.log());
}

#[test]
fn it_stops_as_it_is_asked() {
    let server = PostgresServer::start();
    for (mode, words) in [
        (StopMode::Smart, "received smart shutdown request"),
        (StopMode::Fast, "received fast shutdown request"),
        (StopMode::Immediate, "received immediate shutdown request"),
    ] {
        server.stop(mode);
        assert!(server.process().is_dead());
        assert!(server.log().contains(words), "{}", server.log());
        server.restart();
    }
}

#[test]
fn it_waits_for_its_port_if_somebody_has_taken_it_meanwhile() {
    let server = PostgresServer::start();
    server.kill();
    let thief = TcpListener::bind(server.address()).unwrap();
    std::thread::scope(|scope| {
        let restart = scope.spawn(|| server.restart());
        eventually("a server that cannot have its port", || server.log().contains("Address already in use"));
        drop(thief);
        restart.join().unwrap();
    });
    assert_eq!(server.value("SELECT 1").as_deref(), Some("1"));
}

#[test]
fn settings_count() {
    let options =
        PostgresOptions::default().max_connections(7).setting("work_mem", "1MB").setting("cluster_name", "it's");
    let server = PostgresServer::start_with(options);
    let shown =
        ["max_connections", "work_mem", "cluster_name", "fsync"].map(|name| server.value(&format!("SHOW {name}")));
    assert_eq!(shown.map(Option::unwrap), ["7", "1MB", "it's", "off"]);
}

#[test]
fn a_durable_one_waits_for_the_disk() {
    let server = PostgresServer::start_with(PostgresOptions::default().durable());
    let shown = ["fsync", "synchronous_commit", "full_page_writes"].map(|name| server.value(&format!("SHOW {name}")));
    assert_eq!(shown.map(Option::unwrap), ["on"; 3]);
    server.sql("CREATE TABLE a (b int); INSERT INTO a VALUES (1)");
    server.stop(StopMode::Fast);
    server.restart();
    assert_eq!(server.value("SELECT b FROM a").as_deref(), Some("1"));
}

#[test]
fn its_log_tells_why_it_did_not_start() {
    let start = || PostgresServer::start_with(PostgresOptions::default().setting("no_such_setting", "on"));
    let panic = std::panic::catch_unwind(start).err().unwrap();
    assert!(panic.downcast_ref::<String>().unwrap().contains("no_such_setting"));
}

#[tokio::test]
async fn it_can_be_used_in_asynchronous_tests() {
    let server = PostgresServer::start();
    assert_eq!(server.value("SELECT 1").as_deref(), Some("1"));
}
