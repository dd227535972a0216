//! Commands that end, that cannot be started, or that look for what is not theirs.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::{ELECTION, Scenario, sh};
use tenure_testkit::stores::Backend;

use crate::scenario;

/// Runs a command to its end; its words are in what is returned.
fn run(scenario: &Scenario, command: &[&str]) -> FinishedProcess {
    RunningProcess::start(&mut scenario.candidate_command("a", &[], command)).finish()
}

pub(crate) fn case_25_the_exit_code_and_the_signal_of_the_command_are_passed_on(store: &dyn Backend) {
    let scenario = scenario(store);
    let ends =
        [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -KILL $$", 128 + 9), ("kill -USR1 $$", 128 + 10)];
    for (end, code) in ends {
        assert_eq!(run(&scenario, &sh(end)).code, Some(code), "{end}");
        assert_eq!(scenario.status()["leader"], Value::Null, "the lease was kept after {end}");
    }
}

pub(crate) fn case_25_restarting_campaigns_on_with_a_higher_term(store: &dyn Backend) {
    let scenario = scenario(store);
    let third_succeeds = "echo $TENURE_TERM; echo >> starts; [ $(wc -l < starts) = 3 ]";
    let mut until_success = scenario.candidate_running("a", &["--restart", "on-failure"], &sh(third_succeeds));
    assert_growing_terms(&scenario);
    assert_eq!(until_success.code(), 0);
    let mut forever = scenario.candidate_running("a", &["--restart", "always"], &sh("echo $TENURE_TERM"));
    assert_growing_terms(&scenario);
    forever.signal(Signal::TERM);
    assert_eq!(forever.code(), 143);
}

fn assert_growing_terms(scenario: &Scenario) {
    let terms: Vec<u64> = (0..3).map(|_| scenario.words.next("a term").parse().unwrap()).collect();
    assert!(terms.is_sorted_by(|a, b| a < b), "{terms:?}");
}

pub(crate) fn case_26_a_command_that_cannot_be_run_gives_the_lease_back_at_once(store: &dyn Backend) {
    let scenario = scenario(store);
    let plain = scenario.path("plain");
    std::fs::write(&plain, "no program").unwrap();
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    // So long a lease would be waited out in vain.
    let long = &["--ttl", "10m"][..];
    let with = |command: &[&str]| scenario.finish([&["run", ELECTION], long, &["--no-wait", "--"], command].concat());
    for (program, code) in [("/nowhere/tenure-test", 127), (plain.to_str().unwrap(), 126), ("/", 126)] {
        let finished = with(&[program]);
        assert_eq!(finished.code, Some(code), "{program}: {finished:?}");
        assert!(finished.stderr.contains(&format!("cannot run {program}")), "{finished:?}");
        assert_eq!(with(&["true"]).code, Some(0), "the lease was kept after {program}");
    }
}

pub(crate) fn case_29_the_command_inherits_nothing_but_its_three_standard_files(store: &dyn Backend) {
    let scenario = scenario(store);
    // The shell reads its own state, because a process that it starts for that would change it.
    let script =
        "while read line; do case $line in Sig[BI]*) echo $line;; esac; done < /proc/$$/status; ls /proc/$$/fd";
    let finished = run(&scenario, &sh(script));
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines[2..], ["0", "1", "2"], "{finished:?}");
    let mask = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
    assert_eq!(mask(lines[0]), 0, "blocked signals: {finished:?}");
    // Those that tenure or its guard handles or ignores for itself: HUP, INT, QUIT, USR1, USR2, PIPE, TERM, CHLD, WINCH.
    let touched = [1, 2, 3, 10, 12, 13, 15, 17, 28].iter().fold(0, |mask, signal| mask | 1 << (signal - 1));
    assert_eq!(mask(lines[1]) & touched, 0, "ignored signals: {finished:?}");
}
