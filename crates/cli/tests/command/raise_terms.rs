//! `tenure migrate --raise-terms-above`: a store that takes the place of another.

use tenure_testkit::redis::RedisServer;
use tenure_testkit::running::{FinishedProcess, RunningProcess};

use crate::migrate::{APP, PASSWORD, POSTGRES};
use crate::support::scenario;

/// Above what Redis and PostgreSQL come to by themselves.
const FAR: u64 = 1 << 50;

fn tenure(store: &str, args: &[&str]) -> FinishedProcess {
    RunningProcess::start(&mut scenario().bare([&["--store", store], args].concat())).finish()
}

fn raise(store: &str, above: u64, options: &[&str]) -> String {
    let above = above.to_string();
    let finished = tenure(store, &[&["migrate", "--raise-terms-above", &above], options].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished.stdout
}

fn next_term(store: &str, election: &str) -> u64 {
    let finished = tenure(store, &["run", election, "--quiet", "--", "sh", "-c", "echo $TENURE_TERM"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished.stdout.trim().parse().unwrap()
}

/// One election by its name, which changes no other; whatever is lower changes nothing.
fn a_named_election_is_raised(store: &str) {
    let before = next_term(store, "one");
    assert!(
        raise(store, FAR, &["--election", "one", "--election", "unborn"])
            .contains("one is above 1125899906842624; raised")
    );
    assert!(next_term(store, "one") > FAR && next_term(store, "unborn") > FAR);
    assert!(next_term(store, "other") < FAR, "it was not named");
    let raised = next_term(store, "one");
    assert!(raise(store, before, &["--election", "one"]).contains("it already was"));
    assert_eq!(next_term(store, "one"), raised + 1);
}

/// All of a namespace, those included that are yet to begin.
fn every_election_is_raised(store: &str) {
    next_term(store, "two");
    let told = raise(store, FAR + 1_000, &[]);
    assert!(told.contains("all next terms in namespace default are above 1125899906843624"), "{told}");
    for election in ["two", "new"] {
        assert!(next_term(store, election) > FAR + 1_000, "{election}");
    }
    assert!(raise(store, 4_711, &[]).trim_end().ends_with("; 0 raised"));
}

#[test]
fn terms_go_on_above_those_of_another_store_on_sqlite() {
    let scenario = scenario();
    let store = format!("sqlite:{}", scenario.path("x.db").display());
    a_named_election_is_raised(&store);
    every_election_is_raised(&store);
}

#[test]
fn terms_go_on_above_those_of_another_store_on_postgres() {
    let database = POSTGRES.new_database();
    let owner = database.url();
    let made = tenure(&owner, &["migrate", "--role", APP, "--raise-terms-above", "4711"]);
    assert!(made.code == Some(0) && made.stdout.contains("; app may use it\nall next terms"), "{made:?}");
    a_named_election_is_raised(&owner);
    every_election_is_raised(&owner);
    assert!(next_term(&database.url_as(APP, PASSWORD), "two") > FAR);
}

#[test]
fn terms_go_on_above_those_of_another_store_on_redis() {
    let server = RedisServer::start();
    let store = server.url();
    a_named_election_is_raised(&store);
    let refused = tenure(&store, &["migrate", "--raise-terms-above", &FAR.to_string()]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("give the name of each election"), "{refused:?}");
    assert!(next_term(&store, "two") < FAR, "what is refused changes nothing");
    // Two elections have been raised by name already; the others are above by the time.
    assert!(raise(&store, 4_711, &[]).contains("; 0 raised"));
}

#[test]
fn the_default_store_can_be_raised_too() {
    let scenario = scenario();
    let raised = RunningProcess::start(&mut scenario.bare(["migrate", "--raise-terms-above", "4711"])).finish();
    assert_eq!(raised.code, Some(0), "{raised:?}");
    assert!(raised.stdout.contains("no election is known there yet"), "{raised:?}");
    let command = ["run", "e", "--quiet", "--", "sh", "-c", "echo $TENURE_TERM"];
    let led = RunningProcess::start(&mut scenario.bare(command)).finish();
    assert_eq!((led.code, led.stdout.trim()), (Some(0), "4712"), "{led:?}");
}

#[test]
fn what_cannot_be_raised_is_refused() {
    let database = POSTGRES.new_database();
    let advisory = database.url().replacen("postgres://", "postgres+advisory://", 1);
    let refused = tenure(&advisory, &["migrate", "--raise-terms-above", "4711"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("keeps no terms to raise"), "{refused:?}");
    for options in [
        &["--raise-terms-above", "0"][..],
        &["--raise-terms-above", "4503599627370497"],
        &["--raise-terms-above", "9007199254740991"],
        &["--raise-terms-above", "9007199254740992"],
        &["--raise-terms-above", "7", "--print"],
        &["--raise-terms-above", "7", "--election", ""],
        &["--election", "e"],
    ] {
        let wrong = tenure(&database.url(), &[&["migrate"], options].concat());
        assert_eq!(wrong.code, Some(2), "{options:?}: {wrong:?}");
        assert!(!wrong.stdout.contains("up to date"), "{wrong:?}");
    }
}
