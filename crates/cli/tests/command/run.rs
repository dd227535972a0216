//! `tenure run` when all goes well, and when the command does not.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{ELECTION, Finished, Running, Site, TIMING, sh};

fn run(site: &Site, options: &[&str], command: &[&str]) -> Finished {
    site.finish(arguments(options, command))
}

fn arguments<'a>(options: &[&'a str], command: &[&'a str]) -> Vec<&'a str> {
    [&["run", ELECTION], &TIMING[..], options, &["--"], command].concat()
}

#[test]
fn the_command_knows_its_term_and_not_the_store() {
    let site = Site::new();
    let print = "echo $TENURE_ELECTION $TENURE_CANDIDATE $TENURE_TERM [$TENURE_STORE] [$KEPT]";
    let mut command = site.bare(arguments(&["--id", "a"], &sh(print)));
    let finished = Running::start(command.env("TENURE_STORE", site.store()).env("KEPT", "kept")).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let words: Vec<&str> = finished.stdout.split(' ').collect();
    assert!(matches!(words[..], [ELECTION, "a", _, "[]", "[kept]"]), "{words:?}");
    assert!(words[2].parse::<u64>().unwrap() > 0);
}

#[test]
fn case_25_the_exit_code_and_the_signal_of_the_command_are_passed_on() {
    let site = Site::new();
    assert_eq!(run(&site, &[], &sh("exit 0")).code, Some(0));
    assert_eq!(run(&site, &[], &sh("exit 7")).code, Some(7));
    assert_eq!(run(&site, &[], &sh("exit 255")).code, Some(255));
    assert_eq!(run(&site, &[], &sh("kill -KILL $$")).code, Some(128 + 9));
    assert_eq!(run(&site, &[], &sh("kill -USR1 $$")).code, Some(128 + 10));
}

#[test]
fn case_26_a_command_that_cannot_be_run_gives_the_lease_back_at_once() {
    let site = Site::new();
    let plain = site.path("plain");
    std::fs::write(&plain, "no program").unwrap();
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    // So long a lease would be waited out in vain.
    let long = &["--ttl", "10m"][..];
    let with = |command: &[&str]| site.finish([&["run", ELECTION], long, &["--no-wait", "--"], command].concat());
    for (program, code) in [("/nowhere/tenure-test", 127), (plain.to_str().unwrap(), 126), ("/", 126)] {
        let finished = with(&[program]);
        assert_eq!(finished.code, Some(code), "{program}: {finished:?}");
        assert!(finished.stderr.contains(&format!("cannot run {program}")), "{finished:?}");
        assert_eq!(with(&["true"]).code, Some(0), "the lease was kept after {program}");
    }
}

#[test]
fn standard_input_reaches_the_command() {
    let site = Site::new();
    let mut running = Running::start(site.tenure(arguments(&[], &["cat"])).stdin(Stdio::piped()));
    let mut stdin = running.child().stdin.take().unwrap();
    stdin.write_all(b"one\ntwo\n").unwrap();
    drop(stdin);
    let finished = running.finish();
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "one\ntwo"));
}

#[test]
fn not_waiting_ends_with_75_while_another_leads() {
    let site = Site::new();
    let _leader = site.candidate("a");
    site.next_start();
    let finished = run(&site, &["--no-wait"], &["true"]);
    assert_eq!(finished.code, Some(75), "{finished:?}");
    assert!(finished.stderr.contains("a leads"), "{finished:?}");
}

#[test]
fn restarting_campaigns_on_with_a_higher_term() {
    let site = Site::new();
    let third_succeeds = "echo $TENURE_TERM; echo >> starts; [ $(wc -l < starts) = 3 ]";
    let mut until_success = site.candidate_running("a", &["--restart", "on-failure"], &sh(third_succeeds));
    assert_growing_terms(&site);
    assert_eq!(until_success.code(), 0);
    let mut forever = site.candidate_running("a", &["--restart", "always"], &sh("echo $TENURE_TERM"));
    assert_growing_terms(&site);
    forever.signal(Signal::TERM);
    assert_eq!(forever.code(), 143);
}

fn assert_growing_terms(site: &Site) {
    let terms: Vec<u64> = (0..3).map(|_| site.words.next("a term").parse().unwrap()).collect();
    assert!(terms.is_sorted_by(|a, b| a < b), "{terms:?}");
}

#[test]
fn without_restart_a_success_and_a_failure_end_it() {
    let site = Site::new();
    assert_eq!(run(&site, &["--restart", "on-failure"], &["true"]).code, Some(0));
    assert_eq!(run(&site, &["--restart", "no"], &["false"]).code, Some(1));
}

#[test]
fn events_are_json_lines_with_the_documented_fields() {
    let site = Site::new();
    let finished = run(&site, &["--id", "a", "--json"], &["true"]);
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
fn renewals_are_told_as_json_and_only_so() {
    let site = Site::new();
    let candidate = site.candidate_with("a", &["--renewals"], &[]);
    assert!(candidate.event("renewed")["trusted_until_boot_ns"].is_u64());
    assert_eq!(run(&site, &["--renewals"], &["true"]).code, Some(2));
}

#[test]
fn people_are_told_in_sentences_unless_they_want_quiet() {
    let site = Site::new();
    let loud = run(&site, &[], &["true"]);
    assert!(loud.stderr.contains(&format!("tenure: leading {ELECTION}, term ")), "{loud:?}");
    let quiet = run(&site, &["--quiet"], &sh("echo out; echo err >&2"));
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("out", "err"));
}

#[test]
fn case_29_the_command_inherits_nothing_but_its_three_standard_files() {
    let site = Site::new();
    // The shell reads its own state, because a process that it starts for that would change it.
    let script =
        "while read line; do case $line in Sig[BI]*) echo $line;; esac; done < /proc/$$/status; ls /proc/$$/fd";
    let finished = run(&site, &["--quiet"], &sh(script));
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines[2..], ["0", "1", "2"], "{finished:?}");
    let mask = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
    assert_eq!(mask(lines[0]), 0, "blocked signals: {finished:?}");
    // Those that tenure or its guard handles or ignores for itself: HUP, INT, QUIT, USR1, USR2, PIPE, TERM, CHLD, WINCH.
    let touched = [1, 2, 3, 10, 12, 13, 15, 17, 28].iter().fold(0, |mask, signal| mask | 1 << (signal - 1));
    assert_eq!(mask(lines[1]) & touched, 0, "ignored signals: {finished:?}");
}
