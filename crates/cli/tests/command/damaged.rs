//! Records that somebody has damaged: the others are shown all the same, and the damaged ones are named and can be removed.

use rusqlite::Connection;
use serde_json::{Value, json};
use tenure_testkit::redis::RedisServer;
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::Scenario;

use crate::migrate::{APP, PASSWORD, POSTGRES};
use crate::support::scenario;

const HURT: &str = "hurt";
const FINE: &str = "fine";

/// What is done to the record of one election, and words that say where.
type Damage<'a> = (&'a [&'a str], &'a str);

fn finish(scenario: &Scenario, store: &str, args: &[&str]) -> FinishedProcess {
    RunningProcess::start(&mut scenario.bare([&["--store", store], args].concat())).finish()
}

fn json_of(finished: &FinishedProcess) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

/// Fails, and says which election is damaged, where, and what to do.
fn names_it(finished: &FinishedProcess, place: &str) {
    assert_eq!(finished.code, Some(1), "{finished:?}");
    for word in ["election hurt", "is damaged", place, "`tenure forget hurt`", "`tenure doctor`"] {
        assert!(finished.stderr.contains(word), "{word}: {finished:?}");
    }
}

fn newest_term(scenario: &Scenario, store: &str) -> u64 {
    let history = finish(scenario, store, &["history", HURT, "--limit", "1", "--json"]);
    json_of(&history)[0]["term"].as_u64().unwrap_or_else(|| panic!("{history:?}"))
}

/// All that lists elections shows the one that is as it should be, and tells of the other, which can be removed.
fn are_named_and_can_be_removed(store: &str, damages: &[Damage<'_>], damage: impl Fn(&[&str])) {
    let scenario = scenario();
    assert_eq!(finish(&scenario, store, &["lock", FINE, "--", "true"]).code, Some(0));
    for (what, place) in damages {
        for _ in 0..2 {
            let led = finish(&scenario, store, &["lock", HURT, "--", "true"]);
            assert_eq!(led.code, Some(0), "{what:?}: {led:?}");
        }
        let term = newest_term(&scenario, store);
        damage(what);

        let table = finish(&scenario, store, &["status"]);
        names_it(&table, place);
        let row = |name: &str| table.stdout.lines().any(|line| line.starts_with(name));
        assert!(row(FINE) && row(HURT) && table.stdout.contains("(damaged)"), "{table:?}");
        let status = finish(&scenario, store, &["status", "--json"]);
        names_it(&status, place);
        let lines = json_of(&status);
        assert_eq!((&lines[0]["election"], &lines[0]["damaged"]), (&json!(FINE), &Value::Null), "{lines}");
        assert!(lines[1]["damaged"].as_str().is_some_and(|damage| damage.contains(place)), "{lines}");
        names_it(&finish(&scenario, store, &["status", HURT]), place);
        names_it(&finish(&scenario, store, &["cron", "status"]), place);

        let watch = RunningProcess::start(&mut scenario.bare(["--store", store, "watch", "--json"]));
        let first = watch.stdout().find("what is damaged", |line| line.contains("\"error\"").then(|| line.to_owned()));
        assert!(first.contains(HURT) && first.contains(&place.replace('"', "\\\"")), "{first}");

        let doctor = finish(&scenario, store, &["doctor", "--json"]);
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
        let is_it = |check: &Value| check["check"] == "records" && check["detail"].as_str().unwrap().contains(place);
        assert!(json_of(&doctor).as_array().unwrap().iter().any(is_it), "{doctor:?}");

        let kept = finish(&scenario, store, &["forget", "--abandoned-for", "1h", "--json"]);
        assert_eq!((kept.code, json_of(&kept)), (Some(0), json!([])), "nobody knows when it was used: {kept:?}");
        let forgotten = finish(&scenario, store, &["forget", HURT, "--json"]);
        assert_eq!((forgotten.code, json_of(&forgotten)), (Some(0), json!([HURT])), "{what:?}: {forgotten:?}");
        let status = finish(&scenario, store, &["status", "--json"]);
        assert_eq!((status.code, json_of(&status).as_array().unwrap().len()), (Some(0), 1), "{what:?}: {status:?}");
        assert_eq!(finish(&scenario, store, &["lock", HURT, "--", "true"]).code, Some(0));
        assert!(newest_term(&scenario, store) > term, "{what:?}: terms must not fall");
    }
}

/// The election whose messages can be counted is shown, and the other named.
fn messages_are_counted(store: &str, place: &str, damage: impl Fn()) {
    let scenario = scenario();
    for name in [FINE, HURT] {
        assert_eq!(finish(&scenario, store, &["lock", name, "--", "true"]).code, Some(0));
        assert_eq!(finish(&scenario, store, &["send", name, "refresh", "1"]).code, Some(0));
    }
    damage();
    let counts = finish(&scenario, store, &["messages", "--json"]);
    names_it(&counts, place);
    assert_eq!(json_of(&counts), json!([{"election": FINE, "waiting": 1, "aside": 0}]));
    let status = finish(&scenario, store, &["status", "--json"]);
    names_it(&status, place);
    let lines = json_of(&status);
    let waiting: Vec<&Value> = lines.as_array().unwrap().iter().map(|line| &line["messages_waiting"]).collect();
    assert_eq!(waiting, [&json!(1), &Value::Null], "what is not known is not said to be none: {lines}");
}

#[test]
fn damaged_records_are_named_and_can_be_removed_on_redis() {
    let server = RedisServer::start();
    let damages: [Damage<'_>; 6] = [
        (&["SET", "{tenure:default:hurt}:line", "x"], "\"{tenure:default:hurt}:line\" is a string"),
        (&["SET", "{tenure:default:hurt}:election", "x"], "\"{tenure:default:hurt}:election\" is a string"),
        (&["HSET", "tenure:default:hurt", "field", "x"], "\"tenure:default:hurt\" is a hash"),
        (&["HSET", "{tenure:default:hurt}:election", "term", "soon"], "the field term of the key"),
        (&["HSET", "{tenure:default:hurt}:election", "term", "-1"], "is \"-1\""),
        (&["HSET", "{tenure:default:hurt}:election", "term", "9e99"], "is \"9e99\""),
    ];
    are_named_and_can_be_removed(&server.url(), &damages, |words| drop(server.command(words)));
}

#[test]
fn damaged_records_are_named_and_can_be_removed_on_sqlite() {
    let place = scenario();
    let database = place.path("tenure.db");
    let damages: [Damage<'_>; 4] = [
        (&["UPDATE election SET last_term = -5 WHERE name = 'hurt'"], "the table election holds the term -5"),
        (&["UPDATE election SET last_term = 9007199254740993 WHERE name = 'hurt'"], "the term 9007199254740993"),
        (
            &["UPDATE election SET reserved_for = '', reserved_until_ns = 1 WHERE name = 'hurt'"],
            "of the table election holds",
        ),
        (
            &["INSERT INTO leader SELECT id, 'a', 'no JSON', 1, x'00', NULL FROM election WHERE name = 'hurt'"],
            "of the tables lease and leader holds half a lease",
        ),
    ];
    let run = |words: &[&str]| Connection::open(&database).unwrap().execute_batch(words[0]).unwrap();
    are_named_and_can_be_removed(&place.store(), &damages, run);
}

#[test]
fn damaged_records_are_named_and_can_be_removed_on_postgres() {
    let database = POSTGRES.new_database();
    let migrated = finish(&scenario(), &database.url(), &["migrate", "--role", APP]);
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    let damages: [Damage<'_>; 3] = [
        (&["UPDATE tenure.election SET last_term = -5 WHERE name = 'hurt'"], "the table election: the term -5"),
        (&["UPDATE tenure.election SET last_term = 9007199254740993 WHERE name = 'hurt'"], "the term 9007199254740993"),
        (&["UPDATE tenure.election SET leader = 'x' WHERE name = 'hurt'"], "of the table election: error"),
    ];
    let run = |words: &[&str]| drop(database.sql(words[0]));
    are_named_and_can_be_removed(&database.url_as(APP, PASSWORD), &damages, run);
}

#[test]
fn messages_that_cannot_be_counted_hide_no_others() {
    let server = RedisServer::start();
    let key = "{tenure:default:hurt}:messages";
    messages_are_counted(&server.url(), key, || drop(server.command(&["SET", key, "x"])));

    let place = scenario();
    let file = place.path("tenure.db");
    messages_are_counted(&place.store(), "the table mailbox holds the negative number -1", || {
        let database = Connection::open(&file).unwrap();
        assert_eq!(database.execute("UPDATE mailbox SET waiting = -1 WHERE name = 'hurt'", ()).unwrap(), 1);
    });

    let database = POSTGRES.new_database();
    assert_eq!(finish(&scenario(), &database.url(), &["migrate", "--role", APP]).code, Some(0));
    messages_are_counted(&database.url_as(APP, PASSWORD), "the table mailbox: waiting is -1", || {
        drop(database.sql("UPDATE tenure.mailbox SET waiting = -1 WHERE name = 'hurt'"));
    });
}

#[test]
fn a_damaged_record_of_an_election_that_is_led_is_not_removed() {
    let (scenario, server) = (scenario(), RedisServer::start());
    let store = server.url();
    let leader = RunningProcess::start(&mut scenario.bare(["--store", &store, "elect", HURT, "--json"]));
    leader.stdout().find("a leader", |line| line.contains("\"elected\"").then_some(()));
    server.command(&["HSET", "{tenure:default:hurt}:election", "term", "soon"]);
    let refused = finish(&scenario, &store, &["forget", HURT]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("it has a leader"), "{refused:?}");
}

#[test]
fn doctor_finds_a_file_whose_pages_do_not_fit_together() {
    let scenario = scenario();
    assert_eq!(scenario.finish(["lock", FINE, "--", "true"]).code, Some(0));
    let database = Connection::open(scenario.path("tenure.db")).unwrap();
    // Two tables share a page from here on.
    database.execute_batch("PRAGMA writable_schema = ON").unwrap();
    let changed = "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'lease') \
                   WHERE name = 'history'";
    assert_eq!(database.execute(changed, ()).unwrap(), 1);
    drop(database);
    let doctor = scenario.finish(["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    let finding = doctor.stdout.lines().find(|line| line.starts_with("bad      integrity: the file is damaged"));
    assert!(finding.is_some_and(|finding| finding.contains("restore it from a backup")), "{doctor:?}");
}

#[test]
fn a_history_that_is_something_else_is_named_on_redis() {
    let (scenario, server) = (scenario(), RedisServer::start());
    let store = server.url();
    assert_eq!(finish(&scenario, &store, &["lock", HURT, "--", "true"]).code, Some(0));
    let history = "{tenure:default:hurt}:history";
    server.command(&["SET", history, "x"]);
    names_it(&finish(&scenario, &store, &["history", HURT]), history);
    let doctor = finish(&scenario, &store, &["doctor"]);
    assert!(doctor.code == Some(1) && doctor.stdout.contains(history), "{doctor:?}");
    assert_eq!(finish(&scenario, &store, &["forget", HURT]).code, Some(0));
}

#[test]
fn a_list_that_is_something_else_hides_no_election_on_redis() {
    let (scenario, server) = (scenario(), RedisServer::start());
    let store = server.url();
    for name in [FINE, HURT] {
        assert_eq!(finish(&scenario, &store, &["lock", name, "--", "true"]).code, Some(0));
    }
    assert_eq!(finish(&scenario, &store, &["--namespace", "other", "lock", "elsewhere", "--", "true"]).code, Some(0));
    assert_eq!(finish(&scenario, &store, &["send", FINE, "refresh", "1"]).code, Some(0));
    for list in ["tenure::mailboxes:default", "tenure::elections:default"] {
        server.command(&["DEL", list]);
        server.command(&["SET", list, "x"]);
        let status = finish(&scenario, &store, &["status", "--json"]);
        assert_eq!(status.code, Some(0), "{status:?}");
        assert!(status.stderr.contains(list), "{status:?}");
        let lines = json_of(&status);
        let shown: Vec<(&Value, &Value)> =
            lines.as_array().unwrap().iter().map(|line| (&line["election"], &line["messages_waiting"])).collect();
        assert_eq!(shown, [(&json!(FINE), &json!(1)), (&json!(HURT), &json!(0))], "{list}: {lines}");
        let doctor = finish(&scenario, &store, &["doctor"]);
        assert!(doctor.code == Some(1) && doctor.stdout.contains(list), "{doctor:?}");
    }
}
