//! A server that follows another one.

use tenure_testkit::eventually;
use tenure_testkit::postgres::{PostgresServer, Standby};

#[test]
fn it_follows_and_takes_no_writes() {
    let primary = with_a_row();
    let standby = Standby::of(&primary);
    assert!(primary.is_primary() && !standby.is_primary());
    assert_ne!(primary.port(), standby.port());
    primary.sql("INSERT INTO a VALUES (2)");
    standby.await_all_of(&primary);
    assert_eq!(rows(&standby), "1,2");
    let refused = standby.try_sql("INSERT INTO a VALUES (3)").unwrap_err();
    assert_eq!(refused.code(), Some("25006"), "{refused}");
}

#[test]
fn what_was_confirmed_after_a_cut_is_lost_when_it_is_promoted() {
    let primary = with_a_row();
    let standby = Standby::of(&primary);
    standby.cut();
    primary.sql("INSERT INTO a VALUES (2)");
    primary.kill();
    standby.promote();
    standby.sql("INSERT INTO a VALUES (3)");
    assert_eq!(rows(&standby), "1,3");
}

#[test]
fn it_catches_up_after_a_cut() {
    let primary = with_a_row();
    let standby = Standby::of(&primary);
    standby.cut();
    primary.sql("INSERT INTO a VALUES (2)");
    assert_eq!(rows(&standby), "1");
    standby.reconnect();
    eventually("the second row", || rows(&standby) == "1,2");
}

fn with_a_row() -> PostgresServer {
    let server = PostgresServer::start();
    server.sql("CREATE TABLE a (b int); INSERT INTO a VALUES (1)");
    server
}

fn rows(server: &PostgresServer) -> String {
    server.value("SELECT string_agg(b::text, ',' ORDER BY b) FROM a").unwrap()
}
