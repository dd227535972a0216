//! What elections cost the server while nothing happens.

use std::time::{Duration, Instant};

use tenure::{Candidacy, Client};
use tenure_testkit::postgres::PostgresServer;

use super::support::{PASSWORD, ROLE, advisory, options, until};

/// One leader and nine followers, as many processes, with the usual ttl of 30 s. Five of them wait for the end of the leader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_happens_at_little_cost() {
    let server = PostgresServer::start_with(options().setting("log_statement", "all"));
    let url = advisory(&server.url_as(ROLE, PASSWORD));
    let tenures: Vec<Client> = (0..10).map(|_| Client::open(&url).unwrap()).collect();
    let elections: Vec<_> =
        tenures.iter().map(|client| client.election("nightly").unwrap().candidate().start().unwrap()).collect();
    until("a leader", async || elections.iter().any(Candidacy::is_leader).then_some(())).await;
    let count = || {
        server.log().lines().filter(|line| line.contains("LOG:  execute") || line.contains("LOG:  statement")).count()
    };
    // Waits because what is measured is the cost of a while, and not of the beginning.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (before, began_at) = (count(), Instant::now());
    // Waits because the same is measured here.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let statements = u32::try_from(count() - before).unwrap();
    let per_second = f64::from(statements) / began_at.elapsed().as_secs_f64();
    println!("{per_second:.2} statements per second of one leader and nine followers");
    assert!(elections.iter().any(Candidacy::is_leader), "somebody leads all the time");
    assert!(per_second <= 0.95, "{statements} statements");
}
