//! Addresses that make sense, of stores that cannot be used: no command takes them for a mistyped command line.

use tenure_testkit::ports::free_port;
use tenure_testkit::postgres::PostgresDatabase;
use tenure_testkit::redis::RedisServer;
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::migrate::{APP, PASSWORD, POSTGRES};
use crate::support::scenario;

/// A database that is not there, on each kind of server and in a directory, and the word that tells of it.
fn missing(scenario: &Scenario, redis: &RedisServer) -> Vec<(String, &'static str)> {
    let table = POSTGRES.url_for(APP, PASSWORD, "nowhere");
    let advisory = table.replacen("postgres://", "postgres+advisory://", 1);
    vec![
        (format!("sqlite:{}", scenario.path("nowhere/tenure.db").display()), "nowhere"),
        (format!("{}/99", redis.url()), "no database with this number"),
        (table, "create the database"),
        (advisory, "create the database"),
    ]
}

fn finish(scenario: &Scenario, store: &str, args: &[&str]) -> FinishedProcess {
    RunningProcess::start(&mut scenario.bare([&["--store", store], args].concat())).finish()
}

#[test]
fn a_database_that_is_not_there_is_no_mistake_of_the_command_line() {
    let (scenario, redis) = (scenario(), RedisServer::start());
    let commands: [&[&str]; 14] = [
        &["run", ELECTION, "--no-wait", "--", "true"],
        &["lock", ELECTION, "--no-wait", "--", "true"],
        &["status"],
        &["status", ELECTION, "--json"],
        &["watch"],
        &["history", ELECTION],
        &["messages", ELECTION],
        &["send", ELECTION, "refresh", "1"],
        &["broadcast", ELECTION, "refresh", "1"],
        &["resign", ELECTION],
        &["forget", "--abandoned-for", "1h"],
        &["cron", "status", ELECTION],
        &["cron", "pause", ELECTION, "job"],
        &["cron", "forget", ELECTION, "job"],
    ];
    for (store, word) in missing(&scenario, &redis) {
        let is_advisory = store.starts_with("postgres+advisory:");
        // Where nothing is kept there is nothing to look at.
        let kept = |command: &&&[&str]| !is_advisory || !matches!(command[0], "history" | "messages");
        for command in commands.iter().filter(kept) {
            let refused = finish(&scenario, &store, command);
            assert_eq!(refused.code, Some(69), "{store} {command:?}: {refused:?}");
            let is_told = refused.stderr.contains(word)
                || is_advisory
                    && ["keeps no jobs", "keeps no records"].iter().any(|word| refused.stderr.contains(word));
            assert!(is_told, "{store} {command:?}: {refused:?}");
        }
        if store.starts_with("postgres:") {
            assert_eq!(finish(&scenario, &store, &["migrate"]).code, Some(69), "{store}");
        }
    }
}

/// Stores that cannot be used, each with the word that tells why: nobody listens, a login that is refused, no schema, no
/// database.
fn unusable(scenario: &Scenario, redis: &RedisServer, database: &PostgresDatabase<'_>) -> Vec<(String, &'static str)> {
    let port = free_port();
    let advisory = |url: &str| url.replacen("postgres://", "postgres+advisory://", 1);
    let wrong = database.url_as(APP, "wrong-password");
    let nobody = format!("postgres://{APP}:{PASSWORD}@127.0.0.1:{port}/x");
    let mut stores = missing(scenario, redis);
    stores.extend([
        (format!("redis://127.0.0.1:{port}"), "Connection refused"),
        (redis.url_as("nobody", "wrong-password"), "check user, password and rights"),
        (advisory(&nobody), "Connection refused"),
        (nobody, "Connection refused"),
        (advisory(&wrong), "check the user, the password"),
        (wrong, "check the user, the password"),
        (database.url_as(APP, PASSWORD), "create them with `tenure migrate`"),
    ]);
    stores
}

#[test]
fn whoever_is_to_fail_fast_exits_if_the_store_cannot_be_used_at_the_start() {
    let (scenario, redis, database) = (scenario(), RedisServer::start(), POSTGRES.new_database());
    let commands: [&[&str]; 4] = [
        &["run", ELECTION, "--fail-fast", "--", "true"],
        &["lock", ELECTION, "--fail-fast", "--", "true"],
        &["elect", ELECTION, "--fail-fast"],
        &["cron", "@yearly", "--fail-fast", "--", "true"],
    ];
    for (store, word) in unusable(&scenario, &redis, &database) {
        for command in commands {
            let refused = finish(&scenario, &store, command);
            assert_eq!(refused.code, Some(69), "{store} {command:?}: {refused:?}");
            let is_told = refused.stderr.contains(word) || refused.stderr.contains("keeps no jobs");
            assert!(is_told && !refused.stderr.contains("wrong-password"), "{store} {command:?}: {refused:?}");
            assert!(!refused.stderr.contains("retrying"), "{store} {command:?}: {refused:?}");
        }
    }
}

#[test]
fn whoever_is_not_says_at_once_what_is_wrong_and_comes_in_when_it_is_mended() {
    let (scenario, redis, database) = (scenario(), RedisServer::start(), POSTGRES.new_database());
    for (store, word) in unusable(&scenario, &redis, &database) {
        // A file that cannot be made is the end in any case.
        if store.starts_with("sqlite:") {
            continue;
        }
        let run = RunningProcess::start(&mut scenario.bare(["--store", &store, "run", ELECTION, "--", "true"]));
        let said = run.stderr().next("what is wrong");
        assert!(said.contains("nightly: cannot use the store ") && said.contains(word), "{store}: {said}");
        assert!(said.ends_with("; retrying (--fail-fast exits instead)"), "{store}: {said}");
        assert!(!said.contains("wrong-password") && !said.contains(PASSWORD), "{store}: {said}");
        if word.contains("tenure migrate") {
            let migrated = finish(&scenario, &database.url(), &["migrate", "--role", APP]);
            assert_eq!(migrated.code, Some(0), "{migrated:?}");
            let ended = run.finish();
            assert_eq!(ended.code, Some(0), "{ended:?}");
            assert!(ended.stderr.contains("the store answers again"), "{ended:?}");
        }
    }
}

#[test]
fn a_store_that_answers_nothing_is_told_of_however_long_its_leases_are() {
    let (scenario, redis) = (scenario(), RedisServer::start());
    let _paused = redis.pause();
    let url = redis.url();
    let patient = ["--ttl", "10m", "--renew", "30s"];
    let start = |args: &[&str]| {
        let mut command = scenario.bare([&["--store", url.as_str()], args].concat());
        RunningProcess::start(command.args(patient).args(if args[0] == "elect" { &[][..] } else { &["--", "true"] }))
    };
    let trying = start(&["run", ELECTION]);
    let said = trying.stderr().next("that nothing is heard");
    assert!(said.contains("cannot use the store redis://127.0.0.1:"), "{said}");
    for command in [&["run", ELECTION, "--fail-fast"][..], &["elect", ELECTION, "--fail-fast"]] {
        let refused = start(command).finish();
        assert_eq!(refused.code, Some(69), "{command:?}: {refused:?}");
        assert!(refused.stderr.contains("cannot use the store redis://127.0.0.1:"), "{command:?}: {refused:?}");
    }
}

#[test]
fn a_store_that_can_be_used_at_the_start_may_fail_later() {
    let (scenario, redis) = (scenario(), RedisServer::start());
    let mut tenure = scenario.bare(["--store", &redis.url(), "elect", ELECTION, "--fail-fast"]);
    let mut elect = RunningProcess::start(tenure.args(scenario.timing().options()));
    elect.stdout().find("the election", |line| line.contains("\"elected\"").then_some(()));
    redis.kill();
    elect.stdout().find("the loss", |line| line.contains("\"lost\"").then_some(()));
    redis.restart();
    elect.stdout().find("the next term", |line| line.contains("\"elected\"").then_some(()));
    elect.signal(rustix::process::Signal::TERM);
    assert_eq!(elect.code(), 143);
}
