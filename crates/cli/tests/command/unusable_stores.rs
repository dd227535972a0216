//! Addresses that make sense, of stores that cannot be used: no command takes them for a mistyped command line.

use tenure_testkit::redis::RedisServer;
use tenure_testkit::running::{Finished, Running};
use tenure_testkit::site::{ELECTION, Site};

use crate::migrate::{APP, PASSWORD, POSTGRES};
use crate::support::site;

/// A database that is not there, on each kind of server and in a directory, and the word that tells of it.
fn missing(site: &Site, redis: &RedisServer) -> Vec<(String, &'static str)> {
    let table = POSTGRES.url_for(APP, PASSWORD, "nowhere");
    let advisory = table.replacen("postgres://", "postgres+advisory://", 1);
    vec![
        (format!("sqlite:{}", site.path("nowhere/tenure.db").display()), "nowhere"),
        (format!("{}/99", redis.url()), "no database of this number"),
        (table, "create the database"),
        (advisory, "create the database"),
    ]
}

fn finish(site: &Site, store: &str, args: &[&str]) -> Finished {
    Running::start(&mut site.bare([&["--store", store], args].concat())).finish()
}

#[test]
fn a_database_that_is_not_there_is_no_mistake_of_the_command_line() {
    let (site, redis) = (site(), RedisServer::start());
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
    for (store, word) in missing(&site, &redis) {
        let is_advisory = store.starts_with("postgres+advisory:");
        // Where nothing is kept there is nothing to look at.
        let kept = |command: &&&[&str]| !is_advisory || !matches!(command[0], "history" | "messages");
        for command in commands.iter().filter(kept) {
            let refused = finish(&site, &store, command);
            assert_eq!(refused.code, Some(69), "{store} {command:?}: {refused:?}");
            let is_told = refused.stderr.contains(word)
                || is_advisory && ["keeps no jobs", "keeps nothing"].iter().any(|word| refused.stderr.contains(word));
            assert!(is_told, "{store} {command:?}: {refused:?}");
        }
        if store.starts_with("postgres:") {
            assert_eq!(finish(&site, &store, &["migrate"]).code, Some(69), "{store}");
        }
    }
}
