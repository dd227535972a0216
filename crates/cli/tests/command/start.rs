//! What a process is started with: streams that are closed, and too few file descriptors.

use std::process::Command;

use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::support::scenario;

/// Ends it as a shell does that was given these words around the command.
fn finish(scenario: &Scenario, script: &str, args: &[&str]) -> FinishedProcess {
    let tenure = scenario.tenure(args);
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(tenure.get_program()).args(tenure.get_args());
    for (name, value) in tenure.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    RunningProcess::start(&mut shell).finish()
}

#[test]
fn what_nobody_could_see_is_not_printed_and_nothing_is_acknowledged() {
    let scenario = scenario();
    assert_eq!(scenario.finish(["send", ELECTION, "work", "1"]).code, Some(0));
    let commands: [&[&str]; 4] =
        [&["elect", ELECTION, "--channel", "work"], &["status", "--json"], &["watch", ELECTION], &["cron", "status"]];
    for args in commands {
        let refused = finish(&scenario, "exec \"$@\" >&-", args);
        assert_eq!(refused.code, Some(74), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("standard output is closed"), "{args:?}: {refused:?}");
    }
    assert_eq!(scenario.json(&["messages", "--json"])[0]["waiting"], 1);
    let events = finish(&scenario, "exec \"$@\" 2>&-", &["run", ELECTION, "--json", "--", "echo", "ran"]);
    assert_eq!((events.code, events.stdout.as_str()), (Some(74), ""), "{events:?}");
    let silent = finish(&scenario, "exec \"$@\" >&- 2>&-", &["run", ELECTION, "--", "true"]);
    assert_eq!(silent.code, Some(0), "nothing of ours is printed there: {silent:?}");
    let given_away = finish(&scenario, "exec \"$@\" 1<>/dev/null", &["status"]);
    assert_eq!(given_away.code, Some(0), "somebody wanted that: {given_away:?}");
}

#[test]
fn too_few_file_descriptors_are_an_error_with_advice_for_every_command() {
    let scenario = scenario();
    let commands: [&[&str]; 14] = [
        &["run", ELECTION, "--", "true"],
        &["lock", ELECTION, "--", "true"],
        &["cron", "@yearly", "--name", "test", "--", "true"],
        &["cron", "status"],
        &["elect", ELECTION],
        &["status"],
        &["watch"],
        &["history", ELECTION],
        &["resign", ELECTION],
        &["send", ELECTION, "work", "1"],
        &["messages"],
        &["migrate"],
        &["doctor"],
        &["demo"],
    ];
    for args in commands {
        for limit in [4, 6, 12] {
            let refused = finish(&scenario, &format!("ulimit -n {limit}; exec \"$@\""), args);
            assert_eq!((refused.code, refused.stdout.as_str()), (Some(71), ""), "{limit}, {args:?}: {refused:?}");
            assert!(refused.stderr.contains("ulimit -n"), "{limit}, {args:?}: {refused:?}");
        }
    }
    let enough = finish(&scenario, "ulimit -n 40; exec \"$@\"", &["lock", ELECTION, "--", "echo", "ran"]);
    assert_eq!((enough.code, enough.stdout.as_str()), (Some(0), "ran"), "{enough:?}");
}
