//! The lease store of PostgreSQL passes the same suite as every other store, as a role that may do nothing else.
#![cfg(feature = "postgres")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod schema;
#[path = "../shared/suite.rs"]
mod suite;

use std::sync::LazyLock;

use tenure_testkit::postgres::{PgBouncer, PoolMode, PostgresOptions, PostgresServer};

use self::schema::{APP, PASSWORD, every_property_holds};

static POSTGRES: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start_with(PostgresOptions::default().role(APP, PASSWORD).max_connections(200)));

#[test]
fn on_a_server() {
    every_property_holds(&POSTGRES.url(), &POSTGRES.url_as(APP, PASSWORD), &[]);
}

/// A pooler of transactions does not deliver notifications, and so nobody is hinted to anything.
const NEED_PUSHES: &[&str] = &[
    "a_resignation_is_hinted_to_the_successor",
    "a_hand_over_request_is_hinted_to_the_leader",
    "a_grant_is_hinted_to_those_who_watch_everything",
    "a_resignation_is_hinted_to_those_who_watch_everything",
    "a_message_is_hinted_to_the_leader",
    "a_message_put_back_is_hinted_to_the_leader",
];

#[test]
fn behind_a_pooler_of_transactions() {
    let server = PostgresServer::start_with(PostgresOptions::default().role(APP, PASSWORD));
    let pooler = PgBouncer::start(&server, PoolMode::Transaction, 10);
    every_property_holds(&server.url(), &pooler.url_as(APP, PASSWORD), NEED_PUSHES);
}
