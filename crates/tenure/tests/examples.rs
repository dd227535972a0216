//! The examples do what they say.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

use std::process::Command;

use tenure::store::postgres::{Migration, PostgresConfig};
use tenure_testkit::postgres::{PostgresOptions, PostgresServer};

/// Runs an example until it ends by itself. Through cargo, because not every way to run tests builds the examples first.
fn run(example: &str, how_long: &str) -> String {
    run_on("memory:", example, how_long)
}

fn run_on(store: &str, example: &str, how_long: &str) -> String {
    let arguments = ["run", "--quiet", "--locked", "--example", example, "--", store, how_long];
    let output = Command::new(env!("CARGO")).current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn cron_worker() {
    let said = run("cron_worker", "2");
    assert!(said.contains("job runs under term 1"), "{said}");
    assert!(said.contains("lost term 1: stopped"), "{said}");
}

#[test]
fn cron() {
    let said = run("cron", "2");
    assert_eq!(said.matches("sweep for tick ").count(), 2, "{said}");
    assert!(said.contains("under term 1"), "{said}");
    assert!(said.ends_with("done after 2 runs\n"), "{said}");
}

#[test]
fn queue_consumer() {
    let said = run("queue_consumer", "3");
    assert!(said.contains("consumed item 2 under term 1"), "{said}");
    assert!(said.ends_with("done after 3 items\n"), "{said}");
}

#[test]
fn gate_a_scheduler() {
    let said = run("gate_a_scheduler", "4");
    assert!(said.ends_with("tick 3: report sent\n"), "{said}");
}

#[test]
fn migrate_under_lock() {
    let said = run("migrate_under_lock", "2");
    assert_eq!(said, "step 0 under term 1\nstep 1 under term 1\n2 of 2 steps done\n");
}

#[tokio::test]
async fn payouts() {
    let server = PostgresServer::start_with(PostgresOptions::default().role("app", "app-password"));
    let config = PostgresConfig::from_url(&server.url().parse().unwrap()).unwrap();
    Migration::new(&config).role("app").unwrap().run().await.unwrap();
    // The tables that the example asks for, word for word.
    let text = include_str!("../examples/payouts.rs");
    let tables: String =
        text.lines().filter_map(|line| line.strip_prefix("//! CREATE")).map(|rest| format!("CREATE{rest}")).collect();
    server.sql(&tables);
    server.sql("INSERT INTO invoices VALUES (1, 10), (2, 20), (3, 30)");
    server.sql("GRANT SELECT ON invoices TO app; GRANT SELECT, INSERT ON payouts TO app");
    let said = run_on(&server.url_as("app", "app-password"), "payouts", "3");
    assert!(said.contains("paid invoice 2 under term 1099511627777"), "{said}");
    assert!(said.ends_with("done after 3 payouts\n"), "{said}");
    let paid = server.value("SELECT string_agg(invoice || ':' || amount, ' ' ORDER BY invoice) FROM payouts").unwrap();
    assert_eq!(paid, "1:10 2:20 3:30");
}
