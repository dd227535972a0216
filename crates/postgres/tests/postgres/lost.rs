//! Answers that come late: a server that is merely slow is not logged in to again and again.

use std::time::Duration;

use tenure_testkit::PATIENCE;
use tenure_testkit::proxy::{Direction, Proxy, ProxyFault};

use crate::support::{OwnDatabase, POSTGRES, StoreCandidate, open, until};

/// A leader behind a proxy that has given up a request; its answer has come since, and nobody else can connect.
async fn leader_that_gave_up(hosts: impl Fn(u16) -> String) -> (Proxy, StoreCandidate, tenure_core::Term) {
    let place = OwnDatabase::new().await;
    let proxy = Proxy::before(POSTGRES.address()).unwrap();
    let own = format!("127.0.0.1:{}", POSTGRES.port());
    let store = open(&place.url().replace(&own, &hosts(proxy.address().port())));
    let leader = StoreCandidate::new(&store, "e", "a");
    let term = leader.granted().await;

    proxy.inject(Direction::Replies, ProxyFault::Hold);
    let answer = tokio::time::timeout(Duration::from_millis(200), leader.renew(term)).await;
    assert!(answer.is_err(), "an answer that was held: {answer:?}");
    proxy.refuse();
    proxy.clear(Direction::Replies);
    (proxy, leader, term)
}

#[tokio::test]
async fn a_connection_whose_answer_came_late_is_used_again() {
    let (_proxy, leader, term) = leader_that_gave_up(|port| format!("127.0.0.1:{port}")).await;
    // A new connection is refused, so only the old one can answer.
    until("an answer", async || leader.renew(term).await.ok()).await;
    leader.keeps(term).await;
}

#[tokio::test]
async fn of_several_servers_none_is_trusted_again_because_it_answers_late() {
    // Nobody listens on the first port.
    let (proxy, leader, term) = leader_that_gave_up(|port| format!("127.0.0.1:1,127.0.0.1:{port}")).await;
    // Whoever trusted the old connection again would keep it. It is closed, so there is none left to be used.
    let mut changes = proxy.changes();
    let closed = tokio::time::timeout(PATIENCE, changes.wait_for(|counts| counts.open == 0)).await;
    closed.expect("the old connection is closed").unwrap();
    assert!(leader.renew(term).await.is_err(), "there is no new connection, and another server may be the primary");
    proxy.heal();
    until("a new connection", async || leader.renew(term).await.ok()).await;
}
