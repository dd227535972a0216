//! Messages to a mistyped election: they are kept, the sender is warned, and everybody can find them.

use serde_json::{Value, json};
use tenure_testkit::postgres::SqlSession;
use tenure_testkit::redis::RedisServer;
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::migrate::{APP, PASSWORD, POSTGRES};
use crate::support::scenario;

const MISTYPED: &str = "nightly-reprot";

fn finish(scenario: &Scenario, store: &str, args: &[&str]) -> FinishedProcess {
    RunningProcess::start(&mut scenario.bare([&["--store", store], args].concat())).finish()
}

fn json_of(scenario: &Scenario, store: &str, args: &[&str]) -> Value {
    let finished = finish(scenario, store, args);
    assert_eq!(finished.code, Some(0), "{args:?}: {finished:?}");
    serde_json::from_str(&finished.stdout).unwrap()
}

/// Somebody leads the election, and somebody sends to another name.
fn are_found(store: &str) {
    let scenario = scenario();
    let led = finish(&scenario, store, &["run", ELECTION, "--quiet", "--", "true"]);
    assert_eq!(led.code, Some(0), "{led:?}");
    let known = finish(&scenario, store, &["send", ELECTION, "refresh", "1"]);
    assert_eq!((known.code, known.stderr.as_str()), (Some(0), ""), "it was led once: {known:?}");
    let warned = finish(&scenario, store, &["send", MISTYPED, "refresh", "{}", "--json"]);
    assert_eq!(warned.code, Some(0), "it is kept all the same: {warned:?}");
    assert!(
        warned.stderr.contains("nightly-reprot in namespace ") && warned.stderr.contains("has never had a candidate"),
        "{warned:?}"
    );
    assert!(warned.stderr.contains("`tenure messages`"), "it says where to look: {warned:?}");
    assert_eq!(serde_json::from_str::<Value>(&warned.stdout).unwrap()["election"], MISTYPED);

    let counts = json_of(&scenario, store, &["messages", "--json"]);
    let (other, lost) = (json!({"election": ELECTION, "waiting": 1, "aside": 0}), counts[1].clone());
    assert_eq!(counts, json!([other, {"election": MISTYPED, "waiting": 1, "aside": 0}]), "{lost}");
    let table = finish(&scenario, store, &["messages"]).stdout;
    assert!(table.starts_with("ELECTION ") && table.contains(MISTYPED), "{table}");
    let status = json_of(&scenario, store, &["status", "--json"]);
    let names: Vec<&str> = status.as_array().unwrap().iter().map(|line| line["election"].as_str().unwrap()).collect();
    assert_eq!(names, [ELECTION, MISTYPED], "{status}");
    assert_eq!((&status[1]["leader"], &status[1]["messages_waiting"]), (&Value::Null, &json!(1)), "{status}");
    let one = json_of(&scenario, store, &["status", MISTYPED, "--json"]);
    assert_eq!(one[0]["messages_waiting"], 1, "{one}");
    let table = finish(&scenario, store, &["status"]).stdout;
    let row = table.lines().find(|line| line.starts_with(MISTYPED)).unwrap_or_else(|| panic!("{table}"));
    assert!(row.contains("1 waiting"), "{table}");

    let kept = finish(&scenario, store, &["forget", MISTYPED]);
    assert_eq!(kept.code, Some(1), "{kept:?}");
    assert!(kept.stderr.contains("nightly-reprot is not forgotten: messages wait for its next leader"), "{kept:?}");

    let heard = finish(&scenario, store, &["broadcast", MISTYPED, "reload", "1"]);
    assert_eq!(heard.code, Some(0), "{heard:?}");
    assert!(heard.stderr.contains("no candidate received the broadcast"), "{heard:?}");
    assert_eq!(finish(&scenario, store, &["broadcast", ELECTION, "reload", "1"]).stderr, "");
}

#[test]
fn messages_to_a_mistyped_election_are_found_on_sqlite() {
    let scenario = scenario();
    are_found(&scenario.store());
}

#[test]
fn messages_to_a_mistyped_election_are_found_on_redis() {
    let server = RedisServer::start();
    are_found(&server.url());
}

#[test]
fn messages_to_a_mistyped_election_are_found_on_postgres() {
    let database = POSTGRES.new_database();
    let migrated = finish(&scenario(), &database.url(), &["migrate", "--role", APP]);
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    are_found(&database.url_as(APP, PASSWORD));
}

#[test]
fn where_messages_are_not_kept_nobody_may_have_got_it() {
    let (scenario, database) = (scenario(), POSTGRES.new_database());
    let store = database.url_as(APP, PASSWORD).replacen("postgres://", "postgres+advisory://", 1);
    let lost = finish(&scenario, &store, &["send", "7", "refresh", "1"]);
    assert_eq!(lost.code, Some(0), "{lost:?}");
    assert!(lost.stderr.contains("7 has no leader now") && lost.stderr.contains("keeps no messages"), "{lost:?}");
    let unheard = finish(&scenario, &store, &["broadcast", "7", "refresh", "1"]);
    assert!(unheard.stderr.contains("7 has no leader now"), "{unheard:?}");
    let mut leader = SqlSession::open(&database.url_as(APP, PASSWORD)).unwrap();
    leader.run("SELECT pg_advisory_lock(7)").unwrap();
    assert_eq!(finish(&scenario, &store, &["send", "7", "refresh", "1"]).stderr, "");
}

#[test]
fn messages_without_a_name_puts_nothing_back() {
    for args in [&["messages", "--requeue-all"][..], &["messages", "--dead-letters"]] {
        let refused = scenario().finish(args);
        assert_eq!(refused.code, Some(2), "of which election? {refused:?}");
    }
    assert_eq!(scenario().finish(["messages"]).stdout.lines().count(), 1);
}
