//! The rules in SQL are the rules of the core.

use std::sync::Arc;

use tenure::store::postgres::{Migration, PostgresConfig, PostgresStore};
use tenure_testkit::postgres::{PostgresOptions, PostgresServer};
use tenure_testkit::rules;
use tenure_testkit::wall_clock::FakeWallClock;

#[tokio::test]
async fn postgres_answers_as_the_reference_does() {
    let directory = tempfile::tempdir().unwrap();
    let wall_clock = FakeWallClock::at(directory.path().join("clock"));
    let server =
        PostgresServer::start_with(PostgresOptions::default().role("app", "app-password").wall_clock(&wall_clock));
    let config = |url: &str| PostgresConfig::from_url(&url.parse().unwrap()).unwrap();
    Migration::new(&config(&server.url())).role("app").unwrap().run().await.unwrap();
    let mut session = server.session("postgres");
    let now_ms = move || {
        let rows = session.run("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint").unwrap();
        rows[0][0].as_ref().unwrap().parse().unwrap()
    };
    let candidates = config(&server.url_as("app", "app-password"));
    let open = |clock| Arc::new(PostgresStore::open_with_clock(&candidates, clock)) as _;
    rules::answers_as_the_reference_does(wall_clock, now_ms, open).await;
}
