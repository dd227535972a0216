//! Advisory locks keep no records: commands that look say so, instead of showing an empty answer as the truth.

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_testkit::postgres::PostgresDatabase;
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::migrate::{APP, PASSWORD, POSTGRES};
use crate::support::scenario;

const SAYS: &str = "the postgres advisory store keeps no records, so it cannot tell ";

fn advisory(database: &PostgresDatabase<'_>) -> String {
    database.url_as(APP, PASSWORD).replacen("postgres://", "postgres+advisory://", 1)
}

fn finish(scenario: &Scenario, store: &str, args: &[&str]) -> FinishedProcess {
    RunningProcess::start(&mut scenario.bare([&["--store", store], args].concat())).finish()
}

#[track_caller]
fn told(finished: &FinishedProcess, words: &[&str]) {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.stderr.lines().count(), 1, "one sentence: {finished:?}");
    let is_there = |word: &&&str| finished.stderr.contains(**word);
    assert_eq!(words.iter().filter(is_there).count(), words.len(), "{words:?}: {finished:?}");
}

#[test]
fn whoever_looks_at_advisory_locks_is_told_what_cannot_be_known() {
    let (scenario, database) = (scenario(), POSTGRES.new_database());
    let store = advisory(&database);
    let list = finish(&scenario, &store, &["status"]);
    told(&list, &[SAYS, "which elections there are", "who stands by", "how long leases remain valid"]);
    assert!(list.stdout.starts_with("no elections are listed in namespace default"), "{list:?}");
    let one = finish(&scenario, &store, &["status", ELECTION]);
    told(&one, &[SAYS, "who stands by"]);
    assert!(!one.stderr.contains("which elections there are"), "it was named: {one:?}");
    let history = finish(&scenario, &store, &["history", ELECTION]);
    told(&history, &[SAYS, "who led before and why their leadership ended"]);
    assert!(history.stdout.starts_with("the store keeps no history of nightly"), "{history:?}");
    told(&finish(&scenario, &store, &["messages", ELECTION]), &["the postgres advisory store keeps no messages"]);
    for look in [&["status", "--json"][..], &["history", ELECTION, "--json"], &["messages", ELECTION, "--json"]] {
        let finished = finish(&scenario, &store, look);
        told(&finished, &["the postgres advisory store "]);
        assert_eq!(serde_json::from_str::<Value>(&finished.stdout).unwrap(), json!([]), "{look:?}");
    }
    let leads = finish(&scenario, &store, &["status", ELECTION, "--leads", "a"]);
    assert_eq!((leads.code, leads.stderr.as_str()), (Some(1), ""), "that much is known: {leads:?}");
    let jobs = finish(&scenario, &store, &["cron", "status"]);
    assert_eq!((jobs.code, jobs.stdout.as_str()), (Some(69), ""), "{jobs:?}");
    assert!(jobs.stderr.contains("keeps no jobs"), "{jobs:?}");
}

#[test]
fn whoever_watches_advisory_locks_is_told_once() {
    let (scenario, database) = (scenario(), POSTGRES.new_database());
    let store = advisory(&database);
    for (args, word) in [
        (&["watch", ELECTION, "--json"][..], "who led before and why their leadership ended"),
        (&["watch"], "which elections there are"),
        (&["status", "--watch"], "who stands by"),
    ] {
        let mut watch = RunningProcess::start(&mut scenario.bare([&["--store", store.as_str()], args].concat()));
        let said = watch.stderr().next("what cannot be known");
        assert!(said.contains(SAYS) && said.contains(word), "{args:?}: {said}");
        watch.signal(Signal::TERM);
        assert_eq!(watch.code(), 143, "{args:?}");
    }
}

#[test]
fn stores_that_keep_records_have_nothing_to_explain() {
    let scenario = scenario();
    for look in [&["status"][..], &["history", ELECTION], &["messages", ELECTION], &["cron", "status"]] {
        let finished = scenario.finish(look);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{look:?}: {finished:?}");
    }
}
