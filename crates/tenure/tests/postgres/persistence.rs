//! What the server confirmed, it keeps.

use tenure_testkit::postgres::PostgresServer;

use crate::support::{APP, PASSWORD, Stander, migrate, open, options, until};

#[tokio::test]
async fn what_was_granted_survives_the_death_of_the_server() {
    let server = PostgresServer::start_with(options().durable());
    migrate(&server.url()).await;
    // Whatever the role has set.
    server.sql("ALTER ROLE app SET synchronous_commit = off");
    let leader = Stander::new(&open(&server.url_as(APP, PASSWORD)), "e", "leader");
    let term = leader.granted().await;
    server.kill();

    server.restart();
    let lease =
        until("an answer", async || leader.store.observe(std::slice::from_ref(&leader.key)).await.remove(0).ok())
            .await
            .lease
            .expect("the lease that was granted");
    assert_eq!((lease.leader.term, lease.leader.candidate), (term, leader.id.clone()));
    leader.keeps(term).await;
    server.kill();

    server.restart();
    until("an answer", async || leader.renew(term).await.ok()).await;
    leader.keeps(term).await;
}
