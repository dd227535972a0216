//! `tenure run` when all goes well, and when the command does not.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::{ELECTION, Scenario, sh};

use crate::support::{self, scenario};

fn run(scenario: &Scenario, options: &[&str], command: &[&str]) -> FinishedProcess {
    scenario.finish(arguments(scenario, options, command))
}

fn arguments(scenario: &Scenario, options: &[&str], command: &[&str]) -> Vec<String> {
    support::arguments(scenario, "run", options, command)
}

#[test]
fn the_command_knows_its_term_and_not_the_store() {
    let scenario = scenario();
    let print = "echo $TENURE_ELECTION $TENURE_CANDIDATE $TENURE_TERM [$TENURE_STORE] [$KEPT]";
    let mut command = scenario.bare(arguments(&scenario, &["--id", "a"], &sh(print)));
    let finished = RunningProcess::start(command.env("TENURE_STORE", scenario.store()).env("KEPT", "kept")).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let words: Vec<&str> = finished.stdout.split(' ').collect();
    assert!(matches!(words[..], [ELECTION, "a", _, "[]", "[kept]"]), "{words:?}");
    assert!(words[2].parse::<u64>().unwrap() > 0);
}

#[test]
fn the_name_of_an_election_may_be_a_negative_number() {
    let scenario = scenario();
    for command in ["run", "lock"] {
        let finished = scenario.finish([command, "-5", "--", "sh", "-c", "echo $TENURE_ELECTION"]);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "-5"), "{command}: {finished:?}");
    }
    assert_eq!(scenario.json(&["status", "-5", "--json"])[0]["election"], "-5");
}

#[test]
fn standard_input_reaches_the_command() {
    let scenario = scenario();
    let mut running = RunningProcess::start(scenario.tenure(arguments(&scenario, &[], &["cat"])).stdin(Stdio::piped()));
    let mut stdin = running.child().stdin.take().unwrap();
    stdin.write_all(b"one\ntwo\n").unwrap();
    drop(stdin);
    let finished = running.finish();
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "one\ntwo"));
}

#[test]
fn not_waiting_ends_with_75_while_another_leads() {
    let scenario = scenario();
    let _leader = scenario.candidate("a");
    scenario.next_start();
    let finished = run(&scenario, &["--no-wait"], &["true"]);
    assert_eq!(finished.code, Some(75), "{finished:?}");
    assert!(finished.stderr.contains("a leads"), "{finished:?}");
}

#[test]
fn without_restart_a_success_and_a_failure_end_it() {
    let scenario = scenario();
    assert_eq!(run(&scenario, &["--restart", "on-failure"], &["true"]).code, Some(0));
    assert_eq!(run(&scenario, &["--restart", "no"], &["false"]).code, Some(1));
}

#[test]
fn events_are_json_lines_with_the_documented_fields() {
    let scenario = scenario();
    let finished = run(&scenario, &["--id", "a", "--json"], &["true"]);
    let events: Vec<Value> = finished.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!events.is_empty());
    for event in &events {
        for field in ["event", "election", "candidate", "pid", "term", "reason", "at", "boot_ns"] {
            assert!(event.get(field).is_some(), "no {field} in {event}");
        }
        assert_eq!((&event["election"], &event["candidate"]), (&Value::from(ELECTION), &Value::from("a")));
    }
    let elected = events.iter().find(|event| event["event"] == "elected").unwrap();
    let lost = events.iter().find(|event| event["event"] == "lost").unwrap();
    assert!(elected["term"].is_u64() && elected["term"] == lost["term"], "{events:?}");
    assert_eq!(lost["reason"], "stopped");
}

#[test]
fn with_json_every_line_of_ours_is_an_object() {
    let scenario = scenario();
    let missing = ["--log", "trace", "--json"];
    for (options, command, code) in [(&missing[..], "no-such-command", 127), (&["--json", "--log", "[["], "true", 2)] {
        let finished = run(&scenario, options, &[command]);
        assert_eq!(finished.code, Some(code), "{finished:?}");
        let lines: Vec<Value> = finished
            .stderr
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect();
        let message = lines.iter().find(|line| line["event"] == "note").unwrap_or_else(|| panic!("{finished:?}"));
        assert!(message["message"].is_string() && message["at"].is_string(), "{message}");
    }
}

#[test]
fn renewals_are_told_as_json_and_only_so() {
    let scenario = scenario();
    let candidate = scenario.candidate("a");
    assert!(candidate.event("renewed")["trusted_until_boot_ns"].is_u64());
    assert_eq!(run(&scenario, &["--renewals"], &["true"]).code, Some(2));
}

#[test]
fn people_are_told_in_sentences_unless_they_want_quiet() {
    let scenario = scenario();
    let loud = run(&scenario, &[], &["true"]);
    assert!(loud.stderr.contains(&format!("tenure: leading {ELECTION}, term ")), "{loud:?}");
    let quiet = run(&scenario, &["--quiet"], &sh("echo out; echo err >&2"));
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("out", "err"));
}

#[test]
fn each_end_of_a_command_that_is_restarted_is_told_and_quick_ends_are_waited_out() {
    let scenario = scenario();
    // It prints for how long the machine has been up, fails in two ways, and then succeeds.
    let script =
        "cut -d' ' -f1 /proc/uptime; echo >> starts; case $(wc -l < starts) in 1) exit 3;; 2) kill -KILL $$;; esac";
    let finished = run(&scenario, &["--json", "--restart", "on-failure"], &sh(script));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let events = finished.stderr.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let exits: Vec<Value> = events.filter(|event| event["event"] == "exited").collect();
    let ends: Vec<_> = exits.iter().map(|exit| (exit["exit_code"].as_i64(), exit["signal"].as_i64())).collect();
    assert_eq!(ends, [(Some(3), None), (None, Some(9)), (Some(0), None)]);
    assert!(exits.iter().all(|exit| exit["took_ms"].is_u64() && exit["term"].is_u64()), "{exits:?}");
    let waits: Vec<_> = exits.iter().map(|exit| exit["restart_in_ms"].as_u64()).collect();
    assert!(matches!(waits[..], [Some(250..=500), Some(500..=1000), None]), "{waits:?}");
    let starts: Vec<f64> = finished.stdout.lines().map(|line| line.parse().unwrap()).collect();
    for (exit, start) in exits.iter().zip(&starts[1..]) {
        let due_s = exit["boot_ns"].as_f64().unwrap() / 1e9 + exit["restart_in_ms"].as_f64().unwrap() / 1e3;
        // The start is told in hundredths of a second, and the wait begins a little before it is told.
        assert!(*start >= due_s - 0.1, "started at {start}, which was due at {due_s}");
    }
}

#[test]
fn people_are_told_how_a_command_that_is_restarted_has_ended() {
    let scenario = scenario();
    let finished =
        run(&scenario, &["--restart", "on-failure"], &sh("echo >> starts; [ $(wc -l < starts) = 2 ] || exit 3"));
    assert!(finished.stderr.contains("tenure: the command exited with code 3 after "), "{finished:?}");
    assert!(finished.stderr.contains("it starts again under the next term, in "), "{finished:?}");
}
