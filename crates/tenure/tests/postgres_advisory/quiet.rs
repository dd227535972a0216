//! What elections cost the server while nothing happens.

use std::time::{Duration, Instant};

use tenure::Tenure;

use crate::support::{SERVER, until, url};

/// One leader and nine followers, as many processes, with the usual ttl of 30 s.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_happens_at_little_cost() {
    let database = SERVER.new_database();
    SERVER.sql(&format!("ALTER DATABASE {} SET log_statement = 'all'", database.name));
    let tenures: Vec<Tenure> = (0..10).map(|_| Tenure::open(&url(&database)).unwrap()).collect();
    let elections: Vec<_> = tenures.iter().map(|tenure| tenure.election("nightly").unwrap().start().unwrap()).collect();
    until("a leader", async || elections.iter().any(|election| election.is_leader()).then_some(())).await;
    // Of all databases of this server, the log tells only of the statements in this one.
    let count = || {
        SERVER.log().lines().filter(|line| line.contains("LOG:  execute") || line.contains("LOG:  statement")).count()
    };
    // Waits because what is measured is the cost of a while, and not of the beginning.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (before, began_at) = (count(), Instant::now());
    tokio::time::sleep(Duration::from_secs(60)).await;
    let statements = u32::try_from(count() - before).unwrap();
    let per_second = f64::from(statements) / began_at.elapsed().as_secs_f64();
    println!("{per_second:.2} statements per second of one leader and nine followers");
    assert!(elections.iter().any(|election| election.is_leader()), "somebody leads all the time");
    assert!(per_second <= 0.6, "{statements} statements");
}
