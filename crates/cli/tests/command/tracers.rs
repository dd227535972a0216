//! Commands that somebody traces who does not look after them.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::process::{ProcessHandle, Victim};
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{Scenario, sh};

use crate::support::{arguments, scenario};

/// A process that traces this one, and lets nothing of it go.
fn trace(scenario: &Scenario, process: &ProcessHandle, options: &[&str]) -> RunningProcess {
    std::fs::write(scenario.path("tracer.c"), include_str!("programs/tracer.c")).unwrap();
    let mut compile = Command::new("cc");
    assert!(compile.args(["-o", "tracer", "tracer.c"]).current_dir(scenario.path("")).status().unwrap().success());
    let mut command = Command::new(scenario.path("tracer"));
    let tracer = RunningProcess::start(command.arg(process.pid.to_string()).args(options));
    tracer.stdout().find("the tracer", |line| (line == "traced").then_some(()));
    tracer
}

fn lead(scenario: &Scenario, script: &str) -> (RunningProcess, ProcessHandle) {
    let leader = RunningProcess::start(&mut scenario.tenure(arguments(scenario, "run", &[], &sh(script))));
    let main = leader.stdout().find("the command", |line| line.parse().ok());
    (leader, ProcessHandle::open(main))
}

#[test]
fn a_command_that_is_dead_but_traced_does_not_keep_tenure_from_ending() {
    let scenario = scenario();
    let (leader, main) = lead(&scenario, "echo $$; exec sleep 600");
    let tracer = trace(&scenario, &main, &[]);
    leader.signal(Signal::TERM);
    let finished = leader.finish();
    assert_eq!(finished.code, Some(143), "{finished:?}");
    let tracer = format!("held by process {}, which traces it", tracer.process.pid);
    assert!(finished.stderr.contains(&tracer), "no {tracer:?} in {finished:?}");
    assert_eq!(scenario.status()["leader"], Value::Null, "what is dead does nothing, so the lease is released");
}

#[test]
fn a_command_that_ends_by_itself_while_it_is_traced_has_its_exit_code_passed_on() {
    let scenario = scenario();
    assert!(Command::new("mkfifo").arg(scenario.path("go")).status().unwrap().success());
    let (leader, main) = lead(&scenario, "echo $$; read go < go; exit 3");
    let _tracer = trace(&scenario, &main, &[]);
    std::fs::write(scenario.path("go"), "go\n").unwrap();
    let finished = leader.finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
}

#[test]
fn a_command_whose_guard_is_killed_while_it_is_traced_does_not_keep_tenure_from_ending() {
    let scenario = scenario();
    let (leader, main) = lead(&scenario, "echo $$; exec sleep 600");
    let _tracer = trace(&scenario, &main, &[]);
    main.parent().signal(Signal::KILL);
    let again: i32 = leader.stdout().find("the next command", |line| line.parse().ok());
    assert_ne!(again.to_string(), main.pid.to_string());
    leader.signal(Signal::TERM);
    assert_eq!(leader.finish().code, Some(143));
}

#[test]
fn a_command_that_cannot_be_killed_leaves_its_lease_to_run_out_and_its_guard_to_wait_for_it() {
    let scenario = scenario();
    let (mut leader, main) = lead(&scenario, "echo $$; exec sleep 600");
    let guard = Victim(main.parent());
    let mut tracer = trace(&scenario, &main, &["exit"]);
    leader.signal(Signal::TERM);
    leader.stderr().find("a sentence", |line| line.contains("the lease is left to run out").then_some(()));
    assert_eq!(leader.code(), 143);
    assert!(!guard.0.is_dead(), "nobody holds what stands for the life of the command");
    tracer.signal(Signal::KILL);
    assert_eq!(tracer.exit().code(), None);
    main.await_end("the command");
    guard.0.await_end("the guard");
}
