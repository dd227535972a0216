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
fn what_cannot_be_written_is_a_failure_with_a_reason() {
    let scenario = scenario();
    let commands: [&[&str]; 5] =
        [&["status"], &["status", "--watch"], &["watch", ELECTION], &["elect", ELECTION], &["elect", "another"]];
    for args in commands {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let finished = RunningProcess::start_printing(scenario.tenure(args).stdout(full)).finish();
        assert_eq!(finished.code, Some(70), "{args:?}: {finished:?}");
        assert!(finished.stderr.contains("standard output") && !finished.stderr.contains("panicked"), "{finished:?}");
    }
}
