//! A reader that goes away, as in `tenure status | head`.

use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::ELECTION;

use crate::support::scenario;

#[test]
fn a_reader_that_has_gone_away_is_no_failure() {
    let scenario = scenario();
    let leader = scenario.elect("a");
    leader.event("elected");
    let commands: [&[&str]; 9] = [
        &["status"],
        &["--namespace", "empty", "status"],
        &["status", "--json"],
        &["history", ELECTION],
        &["history", "never"],
        &["doctor"],
        &["doctor", "--json"],
        &["completions", "bash"],
        &["resign", ELECTION],
    ];
    for args in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let finished = RunningProcess::start_printing(scenario.tenure(args).stdout(writer)).finish();
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_candidate_whose_reader_has_gone_away_leaves_and_says_why() {
    let scenario = scenario();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut elect = scenario.tenure(["elect", ELECTION]);
    let finished = RunningProcess::start_printing(elect.stdout(writer)).finish();
    assert_eq!(finished.code, Some(74), "{finished:?}");
    assert!(finished.stderr.contains("standard output has no reader any more"), "{finished:?}");
    assert_eq!(scenario.status()["leader"], serde_json::Value::Null);
}

#[test]
fn events_that_cannot_be_written_are_a_failure_unless_the_command_failed() {
    let scenario = scenario();
    for (subcommand, script, code) in [("run", "exit 0", 74), ("lock", "exit 0", 74), ("run", "exit 3", 3)] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut tenure = scenario.tenure([subcommand, ELECTION, "--json", "--", "sh", "-c", script]);
        let mut running = RunningProcess::start_logging(&mut tenure, full);
        assert_eq!(running.code(), code, "{subcommand} {script}");
    }
}

#[test]
fn standard_output_that_is_closed_is_no_matter_of_run() {
    let scenario = scenario();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec \"$@\" >&-", "sh"]).arg(crate::support::tenure());
    shell.args(["--store", &scenario.store(), "run", ELECTION, "--", "true"]);
    let finished = RunningProcess::start(&mut shell).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

#[test]
fn what_cannot_be_written_is_a_failure_with_a_reason() {
    let scenario = scenario();
    let commands: [&[&str]; 5] =
        [&["status"], &["status", "--watch"], &["watch", ELECTION], &["elect", ELECTION], &["elect", "another"]];
    for args in commands {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let finished = RunningProcess::start_printing(scenario.tenure(args).stdout(full)).finish();
        assert_eq!(finished.code, Some(74), "{args:?}: {finished:?}");
        assert!(finished.stderr.contains("standard output") && !finished.stderr.contains("panicked"), "{finished:?}");
    }
}
