//! Whole messages through a proxy.

use tenure_testkit::eventually;
use tenure_testkit::postgres::{PASSWORD, PostgresServer, ROLE, SqlSession, message_length};
use tenure_testkit::proxy::{Direction, Proxy, ProxyFault};

#[test]
fn all_passes_where_nothing_is_wrong() {
    let (_server, _proxy, mut session) = scene();
    // More than is read at once.
    let rows = session.run("SELECT repeat('x', 999) FROM generate_series(1, 999)").unwrap();
    assert_eq!(rows, vec![vec![Some("x".repeat(999))]; 999]);
}

#[test]
fn after_an_answer_that_comes_twice_no_right_one_comes() {
    let (_server, proxy, mut session) = scene();
    proxy.inject_next(1, Direction::Replies, ProxyFault::Duplicate);
    assert_eq!(number(&mut session, 1), "1");
    // The client closes the connection when it sees the second one before it asks, and else takes it for the next.
    assert!(session.run("SELECT 2").map_or(true, |rows| rows == [[Some("1".to_owned())]]));
}

#[test]
fn the_answer_before_can_come_once_more() {
    let (_server, proxy, mut session) = scene();
    assert_eq!(number(&mut session, 1), "1");
    proxy.inject_next(1, Direction::Replies, ProxyFault::Repeat);
    assert_eq!(number(&mut session, 2), "1");
    assert_eq!(number(&mut session, 3), "3");
}

#[test]
fn a_request_that_comes_twice_is_executed_twice() {
    let (server, proxy, mut session) = scene();
    session.run("CREATE TABLE a (b int)").unwrap();
    proxy.inject_next(1, Direction::Requests, ProxyFault::Duplicate);
    session.run("INSERT INTO a VALUES (1)").unwrap();
    eventually("the second row", || server.value("SELECT count(*) FROM a").as_deref() == Some("2"));
}

fn scene() -> (PostgresServer, Proxy, SqlSession) {
    let server = PostgresServer::start();
    let proxy = Proxy::with_framing(server.address(), message_length).unwrap();
    let url = format!("postgres://{ROLE}:{PASSWORD}@{}/postgres", proxy.address());
    let session = SqlSession::open(&url).unwrap();
    (server, proxy, session)
}

fn number(session: &mut SqlSession, number: u32) -> String {
    session.run(&format!("SELECT {number}")).unwrap()[0][0].clone().unwrap()
}
