//! Elections whose terms somebody has set to the end: they have no leader, and say why.

use rusqlite::Connection;
use tenure_testkit::redis::RedisServer;
use tenure_testkit::running::{FinishedProcess, RunningProcess};

use crate::migrate::{APP, PASSWORD, POSTGRES};
use crate::support::scenario;

const WORDS: &str = "its terms are used up";

fn finish(store: &str, args: &[&str]) -> FinishedProcess {
    RunningProcess::start(&mut scenario().bare([&["--store", store], args].concat())).finish()
}

fn leads(store: &str) {
    let led = finish(store, &["lock", "spent", "--", "true"]);
    assert_eq!(led.code, Some(0), "{led:?}");
}

/// Neither leads under a term that was granted before, nor waits in silence.
fn is_refused_with_words(store: &str, words: &str) {
    let refused = finish(store, &["lock", "spent", "--no-wait", "--", "echo", "led"]);
    assert!(refused.code != Some(0) && refused.stdout.is_empty(), "{refused:?}");
    assert!(refused.stderr.contains(words), "{refused:?}");
    let examined = finish(store, &["doctor"]);
    assert!(examined.code == Some(1) && examined.stdout.contains(words), "{examined:?}");
}

#[test]
fn used_up_terms_are_told_on_sqlite() {
    let place = scenario();
    leads(&place.store());
    let database = Connection::open(place.path("tenure.db")).unwrap();
    database.execute("UPDATE election SET last_term = 9007199254740992", ()).unwrap();
    is_refused_with_words(&place.store(), WORDS);
}

#[test]
fn used_up_terms_are_told_on_postgres() {
    let database = POSTGRES.new_database();
    assert_eq!(finish(&database.url(), &["migrate", "--role", APP]).code, Some(0));
    let store = database.url_as(APP, PASSWORD);
    leads(&store);
    drop(database.sql("UPDATE tenure.election SET last_term = 9007199254740992"));
    is_refused_with_words(&store, WORDS);
}

#[test]
fn redis_grants_no_term_twice_where_numbers_end() {
    let server = RedisServer::start();
    leads(&server.url());
    let set = |term| drop(server.command(&["HSET", "{tenure:default:spent}:election", "term", term]));
    set("9007199254740990");
    leads(&server.url());
    is_refused_with_words(&server.url(), WORDS);
    for beyond in ["9007199254740992", "9007199254740993"] {
        set(beyond);
        is_refused_with_words(&server.url(), &format!("is \"{beyond}\""));
    }
}
