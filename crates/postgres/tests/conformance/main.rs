//! The stores in PostgreSQL pass the same suite as every other store, as a role that may do nothing else.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod advisory;
mod rules;
mod schema;

use std::sync::LazyLock;

use tenure_testkit::postgres::{PgBouncer, PoolMode, PostgresOptions, PostgresServer};

use self::schema::{APP, PASSWORD, every_property_holds};

static POSTGRES: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start_with(PostgresOptions::default().role(APP, PASSWORD).max_connections(200)));

#[test]
fn on_a_server() {
    every_property_holds(&POSTGRES.url(), &POSTGRES.url_as(APP, PASSWORD), &[]);
}

/// A pooler of transactions does not deliver notifications, and so nobody is hinted to anything or hears a broadcast.
const NEED_PUSHES: &[&str] = &[
    "a_resignation_is_hinted_to_the_successor",
    "a_resignation_is_hinted_to_the_third_in_line_too",
    "a_hand_over_request_is_hinted_to_the_leader",
    "a_grant_is_hinted_to_those_who_watch_everything",
    "a_resignation_is_hinted_to_those_who_watch_everything",
    "a_message_is_hinted_to_the_leader",
    "a_message_put_back_is_hinted_to_the_leader",
    "a_broadcast_reaches_every_listener",
    "whoever_says_it_hears_it_too",
    "leaders_and_followers_hear_it",
    "a_broadcast_stays_in_its_election",
    "nothing_is_kept_for_those_who_come_later",
    "whoever_has_left_hears_nothing_of_what_was_said_meanwhile",
    "a_batch_of_broadcasts_is_heard_in_order",
    "one_after_the_other_is_heard_in_order",
    "each_broadcast_is_heard_once",
    "the_same_said_twice_is_heard_twice",
    "listening_takes_no_part",
    "odd_payloads_are_heard_byte_by_byte",
    "the_largest_broadcast_is_heard_and_a_larger_one_refused",
    "odd_channels_and_senders_are_heard_byte_by_byte",
    "odd_elections_are_listened_to_apart",
    "all_bits_of_the_id_of_a_broadcast_count",
];

#[test]
fn behind_a_pooler_of_transactions() {
    let server = PostgresServer::start_with(PostgresOptions::default().role(APP, PASSWORD));
    let pooler = PgBouncer::start(&server, PoolMode::Transaction, 10);
    every_property_holds(&server.url(), &pooler.url_as(APP, PASSWORD), NEED_PUSHES);
}
