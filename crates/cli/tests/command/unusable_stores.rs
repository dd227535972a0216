//! Addresses that make sense, of stores that cannot be used: no command takes them for a mistyped command line.

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
        (format!("{}/99", redis.url()), "no database of this number"),
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
                || is_advisory && ["keeps no jobs", "keeps nothing"].iter().any(|word| refused.stderr.contains(word));
            assert!(is_told, "{store} {command:?}: {refused:?}");
        }
        if store.starts_with("postgres:") {
            assert_eq!(finish(&scenario, &store, &["migrate"]).code, Some(69), "{store}");
        }
    }
}
