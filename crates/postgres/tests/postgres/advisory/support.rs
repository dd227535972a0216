//! What the tests of advisory locks share: a server, and short ways to say things.

use std::sync::LazyLock;

use tenure_testkit::postgres::{PostgresDatabase, PostgresOptions, PostgresServer};

pub(crate) use tenure_testkit::store_candidate::{PATIENCE, StoreCandidate, id, open, until};

/// A role that may do nothing but log in.
pub(crate) const ROLE: &str = "candidate";
pub(crate) const PASSWORD: &str = "secret";

/// Shared by all tests that do not end it.
pub(crate) static SERVER: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start_with(options().max_connections(400)));

/// A server that asks its candidates for no password: giving one takes processor time.
pub(crate) fn options() -> PostgresOptions {
    let options = PostgresOptions::default().role(ROLE, PASSWORD);
    options.access_rule(&format!("host all {ROLE} 127.0.0.1/32 trust"))
}

/// Where candidates find this database.
pub(crate) fn url(database: &PostgresDatabase<'_>) -> String {
    advisory(&database.url_as(ROLE, PASSWORD))
}

pub(crate) fn advisory(url: &str) -> String {
    url.replacen("postgres://", "postgres+advisory://", 1)
}

/// How many advisory locks there are in this database, marks not among them.
pub(crate) fn locks(database: &PostgresDatabase<'_>, condition: &str) -> usize {
    lockers(database, &format!("objsubid = 1 AND {condition}")).len()
}

/// The server processes that have advisory locks in this database, or wait for them.
pub(crate) fn lockers(database: &PostgresDatabase<'_>, condition: &str) -> Vec<String> {
    let sql = format!(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND {condition} \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    );
    database.sql(&sql).into_iter().flatten().flatten().collect()
}
