//! Input that cannot be used: a clear message, the documented exit code, and nothing written.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::Scenario;

use crate::support::scenario_without_store;

/// Everything `tenure` could have written to.
fn files(scenario: &Scenario) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(scenario.path("")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn assert_refused(finished: &FinishedProcess, code: i32, word: &str, what: &dyn std::fmt::Debug) {
    assert_eq!(finished.code, Some(code), "{what:?}: {finished:?}");
    assert!(finished.stderr.contains(word), "{what:?}: no {word:?} in {finished:?}");
    assert!(!finished.stderr.contains("panicked") && finished.stdout.is_empty(), "{what:?}: {finished:?}");
    assert!(finished.stderr.chars().all(|c| c == '\n' || !c.is_control()), "{what:?}: {finished:?}");
}

fn refused<I: AsRef<OsStr>>(args: &[I], code: i32, word: &str) {
    let scenario = scenario_without_store();
    let finished = scenario.finish(args);
    let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    assert_refused(&finished, code, word, &args);
    assert_eq!(files(&scenario), Vec::<std::path::PathBuf>::new(), "{args:?} left something behind");
}

#[test]
fn names_that_cannot_be_used() {
    let long = "x".repeat(201);
    for (name, word) in [("", "empty"), (&long, "200"), ("two\nlines", "control"), ("a\u{1b}[2J", "control")] {
        let run_as = ["run", "ok", "--id", name, "--", "true"];
        refused(&["run", name, "--", "true"], 2, word);
        refused(&run_as, 2, word);
        refused(&["elect", name], 2, word);
        refused(&["elect", "ok", "--id", name], 2, word);
        refused(&["status", name], 2, word);
        refused(&["watch", name], 2, word);
        refused(&["history", name], 2, word);
        refused(&["resign", name], 2, word);
        refused(&["resign", "ok", "--to", name], 2, word);
        refused(&["--namespace", name, "status"], 2, word);
    }
}

#[test]
fn text_that_is_not_utf_8() {
    let broken = OsStr::from_bytes(b"caf\xe9");
    let with = |before: &[&str], after: &[&str]| -> Vec<OsString> {
        let before = before.iter().map(OsString::from);
        before.chain([broken.to_owned()]).chain(after.iter().map(OsString::from)).collect()
    };
    refused(&with(&["run"], &["--", "true"]), 2, "UTF-8");
    refused(&with(&["run", "ok", "--id"], &["--", "true"]), 2, "UTF-8");
    refused(&with(&["elect"], &[]), 2, "UTF-8");
    refused(&with(&["--namespace"], &["status"]), 2, "UTF-8");
    refused(&with(&["status"], &[]), 2, "UTF-8");
}

#[test]
fn an_argument_of_the_command_may_be_any_bytes() {
    let scenario = scenario_without_store();
    let mut args: Vec<OsString> = ["run", "ok", "--quiet", "--", "printf", "%s"].iter().map(OsString::from).collect();
    args.push(OsStr::from_bytes(b"caf\xe9").to_owned());
    let output = scenario.tenure(args).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"caf\xe9"[..]));
}

#[test]
fn durations_that_cannot_work() {
    for command in [&["run", "ok"][..], &["elect", "ok"]] {
        let with = |timing: &[&str], word: &str| {
            let end: &[&str] = if command[0] == "run" { &["--", "true"] } else { &[] };
            refused(&[command, timing, end].concat(), 2, word);
        };
        with(&["--ttl", "3s", "--renew", "2s"], "renew");
        with(&["--ttl", "3s", "--renew", "500ms", "--grace", "10s"], "grace");
        with(&["--ttl", "0s"], "ttl");
        with(&["--ttl", "1ms"], "ttl");
        with(&["--ttl", "15"], "15s, 500ms, 2m");
        with(&["--ttl", "-3s"], "");
        with(&["--ttl", "99999999999999999999h"], "too long");
        with(&["--ttl", "90000h"], "ttl");
        with(&["--preset", "hasty"], "hasty");
        with(&["--priority", "11"], "priority");
    }
}

#[test]
fn metadata_that_are_too_large_or_have_no_key() {
    let large = format!("key={}", "x".repeat(4096));
    refused(&["elect", "ok", "--metadata", &large], 2, "4096");
    refused(&["run", "ok", "--metadata", &large, "--", "true"], 2, "4096");
    refused(&["elect", "ok", "--metadata", "novalue"], 2, "KEY=VALUE");
}

#[test]
fn stores_that_cannot_be_used() {
    let scenario = scenario_without_store();
    let missing = format!("sqlite:{}", scenario.path("missing/tenure.db").display());
    let directory = format!("sqlite:{}", scenario.path(".").display());
    let stores: [(&str, i32, &str); 7] = [
        ("mongodb://host/db", 2, "sqlite:PATH"),
        ("no-scheme", 2, "SCHEME:REST"),
        ("", 2, "SCHEME:REST"),
        ("sqlite:", 2, "sqlite:PATH"),
        ("sqlite:tenure.db?mode=rwc", 2, "no options"),
        (&missing, 69, "missing"),
        (&directory, 69, ""),
    ];
    for (store, code, word) in stores {
        for command in [&["run", "ok", "--", "true"][..], &["elect", "ok"], &["status"], &["watch"], &["history", "ok"]]
        {
            let args = [&["--store", store], command].concat();
            assert_refused(&RunningProcess::start(&mut scenario.bare(&args)).finish(), code, word, &args);
            assert_eq!(files(&scenario), Vec::<std::path::PathBuf>::new(), "{args:?} left something behind");
        }
    }
}

#[test]
fn command_lines_that_make_no_sense() {
    refused(&["run", "ok"], 2, "CMD");
    refused(&["run", "ok", "--"], 2, "CMD");
    refused(&["run", "ok", "--json", "--quiet", "--", "true"], 2, "cannot be used with");
    refused(&["conquer"], 2, "conquer");
    refused(&["--log", "tenure=loud", "status"], 2, "log filter");
    refused(&["completions", "abacus"], 2, "abacus");
    refused(&["history", "ok", "-n", "many"], 2, "many");
    refused(&["history", "ok", "-n", "0"], 2, "zero");
    refused(&["messages", "ok", "-n", "0"], 2, "zero");
    refused(&["run", "ok", "--ttl", "1s", "--grace", "5s", "--", "true"], 2, "no time to lead");
    refused(&["__guard"], 2, "");
}
