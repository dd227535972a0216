//! A file of jobs that is read again.

use rustix::fs::{CWD, FileType, Mode};
use rustix::process::Signal;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::Scenario;

use crate::support::{event, scenario};

fn write(scenario: &Scenario, jobs: &str) {
    std::fs::write(scenario.path("jobs.toml"), jobs).unwrap();
}

fn job(name: &str, command: &str) -> String {
    format!("[jobs.{name}]\nschedule = '* * * * * *'\ncommand = '{command}'\n")
}

fn start(scenario: &Scenario) -> RunningProcess {
    let mut tenure = scenario.tenure(["cron", "jobs.toml", "--json"]);
    let running = RunningProcess::start(tenure.args(scenario.timing().options()));
    event(&running, "elected");
    running
}

fn said(running: &RunningProcess, what: &str) {
    running.stderr().find(what, |line| line.contains(what).then_some(()));
}

#[test]
fn jobs_are_added_changed_and_removed_and_runs_go_on() {
    let scenario = scenario();
    write(&scenario, &[job("kept", "echo old"), job("long", "echo begun; sleep 1; echo $TENURE_JOB is done")].concat());
    let running = start(&scenario);
    running.stdout().find("a run of each", |line| (line == "begun").then_some(()));
    write(&scenario, &[job("kept", "echo new"), job("added", "echo added")].concat());
    running.signal(Signal::HUP);
    said(&running, "jobs.toml: 2 job(s)");
    running.stdout().find("the run that went on", |line| (line == "long is done").then_some(()));
    running.stdout().find("the job that is new", |line| (line == "added").then_some(()));
    running.stdout().find("the job that was changed", |line| (line == "new").then_some(()));
    let later: Vec<String> = (0..4).map(|_| running.stdout().next("later runs")).collect();
    assert!(later.iter().all(|line| line == "new" || line == "added"), "{later:?}");
}

#[test]
fn a_file_that_cannot_be_read_at_once_keeps_nothing_from_going_on() {
    let scenario = scenario();
    write(&scenario, &job("kept", "echo old"));
    let mut running = start(&scenario);
    running.stdout().next("a run");
    let file = scenario.path("jobs.toml");
    std::fs::remove_file(&file).unwrap();
    rustix::fs::mknodat(CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    running.signal(Signal::HUP);
    for _ in 0..2 {
        assert_eq!(running.stdout().next("a later run"), "old");
    }
    running.signal(Signal::HUP);
    said(&running, "jobs not changed: jobs.toml is still being read");
    running.signal(Signal::TERM);
    assert_eq!(running.code(), 143);
}

#[test]
fn a_file_that_cannot_be_used_changes_nothing() {
    let scenario = scenario();
    write(&scenario, &job("kept", "echo old"));
    let mut running = start(&scenario);
    running.stdout().next("a run");
    for (wrong, why) in [
        (job("kept", "echo new").replace("schedule", "shedule"), "jobs.toml:2: job kept: unknown key `shedule`"),
        (format!("election = 'other'\n{}", job("kept", "echo new")), "now names the election other"),
    ] {
        write(&scenario, &wrong);
        running.signal(Signal::HUP);
        said(&running, why);
    }
    for _ in 0..2 {
        assert_eq!(running.stdout().next("a later run"), "old");
    }
    running.signal(Signal::TERM);
    assert_eq!(running.exit().code(), Some(143));
}
