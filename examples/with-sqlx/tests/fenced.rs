//! The fence inside a transaction of sqlx refuses a term that is over, and the page about fencing shows it as it is.

use std::process::Command;

use sqlx::PgPool;
use tenure::Client;
use tenure::store::postgres::{Migration, PostgresConfig};
use tenure_testkit::postgres::PostgresServer;

#[allow(dead_code, reason = "its main function is run as a program")]
#[path = "../src/bin/fenced-worker.rs"]
mod worker;

const PAGE: &str = include_str!("../../../docs/fencing.md");
const WORKER: &str = include_str!("../src/bin/fenced-worker.rs");

/// With the tables that the program asks for, which belong to the role that it logs in as.
async fn prepare(url: &str) -> PgPool {
    let config = PostgresConfig::from_url(&url.parse().unwrap()).unwrap();
    Migration::new(&config).run().await.unwrap();
    let pool = PgPool::connect(url).await.unwrap();
    let table =
        WORKER.lines().find_map(|line| line.strip_prefix("//!")?.split('`').find(|code| code.starts_with("payouts (")));
    let create = format!("CREATE TABLE {}", table.expect("the program says what it needs"));
    sqlx::raw_sql(sqlx::AssertSqlSafe(create)).execute(&pool).await.unwrap();
    pool
}

async fn paid(pool: &PgPool) -> Vec<(i64, i64)> {
    sqlx::query_as("SELECT invoice, term FROM payouts ORDER BY 1, 2").fetch_all(pool).await.unwrap()
}

#[tokio::test]
async fn a_term_that_is_over_pays_nothing() {
    let server = PostgresServer::start();
    let pool = prepare(&server.url()).await;
    let client = Client::open(&server.url()).unwrap();

    let first = client.election("payouts").unwrap().candidate().start().unwrap();
    let old = first.elected().await.unwrap();
    assert!(worker::pay(&pool, &old, 7).await.unwrap());
    first.stop().await;

    let second = client.election("payouts").unwrap().candidate().start().unwrap();
    let new = second.elected().await.unwrap();
    assert!(!worker::pay(&pool, &old, 8).await.unwrap(), "a newer leader was elected");
    assert!(worker::pay(&pool, &new, 9).await.unwrap());
    let number = |leadership: &tenure::Leadership| i64::try_from(leadership.term().get()).unwrap();
    assert_eq!(paid(&pool).await, [(7, number(&old)), (9, number(&new))]);
    second.stop().await;
}

#[tokio::test]
async fn the_program_pays() {
    let server = PostgresServer::start();
    let pool = prepare(&server.url()).await;
    let mut program = Command::new(env!("CARGO_BIN_EXE_fenced-worker"));
    let output = program.env("DATABASE_URL", server.url()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let invoices: Vec<i64> = paid(&pool).await.into_iter().map(|(invoice, _)| invoice).collect();
    assert_eq!(invoices, [1, 2, 3]);
}

#[test]
fn the_page_shows_what_the_program_does() {
    let (_, section) = PAGE.split_once("### sqlx").expect("the page has a section about sqlx");
    let block = section.split("```").nth(1).and_then(|block| block.split_once('\n')).expect("it has an example").1;
    let unindented = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    assert!(block.lines().count() > 8, "{block}");
    assert!(unindented(WORKER).contains(&unindented(block)), "the page shows something else:\n{block}");
}
