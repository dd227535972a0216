//! `tenure migrate`, and the elections that are held afterwards.

use std::sync::LazyLock;

use tenure_testkit::postgres::{PostgresDatabase, PostgresOptions, PostgresServer, SqlSession};
use tenure_testkit::running::{FinishedProcess, RunningProcess};

use crate::support::scenario;

pub(crate) static POSTGRES: LazyLock<PostgresServer> =
    LazyLock::new(|| PostgresServer::start_with(PostgresOptions::default().role(APP, PASSWORD)));

/// The role that candidates log in as. It owns nothing.
pub(crate) const APP: &str = "app";
pub(crate) const PASSWORD: &str = "app-password";

fn tenure(store: &str, args: &[&str]) -> FinishedProcess {
    let finished = RunningProcess::start(&mut scenario().bare([&["--store", store], args].concat())).finish();
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(!said.contains(PASSWORD) && !said.contains("tenure-password") && !said.contains("panicked"), "{said}");
    finished
}

#[track_caller]
fn assert_done(finished: &FinishedProcess, words: &str) {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains(words), "{finished:?}");
}

fn app(database: &PostgresDatabase<'_>) -> String {
    database.url_as(APP, PASSWORD)
}

#[test]
fn it_makes_the_schema_and_lets_a_role_use_it() {
    let database = POSTGRES.new_database();
    let refused = tenure(&app(&database), &["run", "e", "--wait", "0s", "--", "true"]);
    assert!(refused.code != Some(0) || refused.stdout.is_empty(), "{refused:?}");
    let unprepared = tenure(&app(&database), &["status"]);
    assert_eq!(unprepared.code, Some(69), "{unprepared:?}");
    assert!(unprepared.stderr.contains("tenure migrate"), "{unprepared:?}");

    let migrated = || tenure(&database.url(), &["migrate", "--role", APP]);
    assert_done(&migrated(), ", version 8; app may use it");
    assert_done(&migrated(), "was up to date: version 8; app may use it");
    database.sql("UPDATE tenure.version SET version = 7");
    assert_done(&migrated(), "from version 7 to 8; app may use it");
    let led = tenure(&app(&database), &["run", "e", "--quiet", "--", "echo", "led"]);
    assert_eq!((led.code, led.stdout.as_str()), (Some(0), "led"), "{led:?}");
}

#[test]
fn what_it_prints_can_be_run_by_hand() {
    let database = POSTGRES.new_database();
    let url = format!("{}?schema=by%20hand", database.url());
    let printed = tenure(&url, &["migrate", "--print", "--role", APP]);
    assert_done(&printed, "CREATE SCHEMA \"by hand\"");
    assert_eq!(database.sql("SELECT to_regnamespace('\"by hand\"')"), [[None]], "printing changes nothing");
    SqlSession::open(&database.url()).unwrap().run(&printed.stdout).unwrap();
    let led = tenure(&format!("{}?schema=by%20hand", app(&database)), &["run", "e", "--quiet", "--", "echo", "led"]);
    assert_eq!((led.code, led.stdout.as_str()), (Some(0), "led"), "{led:?}");
}

#[test]
fn clients_of_the_recipe_are_shown_like_others() {
    let database = POSTGRES.new_database();
    database.sql("GRANT CREATE ON SCHEMA public TO tenure");
    assert_done(&tenure(&database.url(), &["migrate", "--compat", "--role", APP]), ": created the schema, version 8");
    let mut foreigner = SqlSession::open(&app(&database)).unwrap();
    let answer = foreigner.run("SELECT try_become_leader('shared', 'worker-7', 600)").unwrap();
    assert_eq!(answer, [[Some("t".to_owned())]]);

    assert_done(&tenure(&app(&database), &["status", "shared"]), "worker-7");
    assert_done(&tenure(&app(&database), &["history", "shared"]), "worker-7");
    let refused = tenure(&app(&database), &["resign", "shared"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("cannot be asked to hand over"), "{refused:?}");
    foreigner.run("SELECT step_down('shared', 'worker-7')").unwrap();
    assert_done(&tenure(&app(&database), &["run", "shared", "--quiet", "--", "echo", "led"]), "led");
    let history = tenure(&app(&database), &["history", "shared"]);
    assert_eq!(history.stdout.matches("worker-7").count(), 2, "{history:?}");
}

#[test]
fn who_may_not_is_told_who_may() {
    let database = POSTGRES.new_database();
    let refused = tenure(&app(&database), &["migrate"]);
    assert_eq!(refused.code, Some(69), "{refused:?}");
    assert!(refused.stderr.contains("as the owner of the database"), "{refused:?}");
    let bad = tenure(&database.url(), &["migrate", "--role", &"x".repeat(64)]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
    assert!(bad.stderr.contains("63 bytes"), "{bad:?}");
}

#[test]
fn other_stores_need_none() {
    let scenario = scenario();
    let finished = RunningProcess::start(&mut scenario.bare(["migrate"])).finish();
    assert_done(&finished, "the default store needs no migration");
    let sqlite = format!("sqlite:{}", scenario.path("x.db").display());
    for (store, name) in [(sqlite.as_str(), "sqlite"), ("memory:", "memory"), ("redis://127.0.0.1:1/", "redis")] {
        for options in [&["migrate"][..], &["migrate", "--print"]] {
            assert_done(&tenure(store, options), &format!("{name} needs no migration"));
        }
    }
    assert_eq!(tenure("mongodb://host/db", &["migrate"]).code, Some(2));
}

/// Of a lock that somebody else holds nobody but the holder knows since when, under which term and for how long.
#[test]
fn what_is_not_known_of_an_advisory_lock_is_not_made_up() {
    let database = POSTGRES.new_database();
    let store = app(&database).replacen("postgres://", "postgres+advisory://", 1);
    let mut foreigner = SqlSession::open(&app(&database)).unwrap();
    foreigner.run("SELECT pg_advisory_lock(7)").unwrap();
    let status = tenure(&store, &["status", "7", "--json"]);
    let lines: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    let line = &lines[0];
    assert!(line["leader"].is_string(), "{line}");
    for unknown in ["term", "since", "remaining_ms"] {
        assert!(line.as_object().unwrap().contains_key(unknown) && line[unknown].is_null(), "{unknown}: {line}");
    }
    let table = tenure(&store, &["status", "7"]);
    assert!(!table.stdout.contains("1970") && table.stdout.contains(" -  "), "{table:?}");
    let resigned = tenure(&store, &["resign", "7"]);
    assert_ne!(resigned.code, Some(0), "{resigned:?}");
    assert!(resigned.stderr.contains("cannot be asked to hand over"), "{resigned:?}");
}
