//! `tenure cron` is killed while several commands run, each of which has a guard of its own.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tenure_testkit::process::{ProcessHandle, signal_all};
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{ELECTION, Scenario};
use tenure_testkit::stores::{Redis, Sqlite};
use tenure_testkit::test_timing::TestTiming;

use crate::support::{WITH_TABLES, event, tenure};

/// A lease that outlasts the bound of these tests by far.
const LONG_LEASE: TestTiming = TestTiming::from_millis(30_000, 5_000, 1_000);
/// What a guard takes to kill, connect and resign, and what a busy machine adds.
const SOON: Duration = Duration::from_secs(10);

/// Two commands that do not heed SIGTERM.
const JOBS: &str = "election = 'nightly'\n\
    [jobs.one]\nschedule = '* * * * * *'\ncommand = 'trap \"\" TERM; echo one $$; while :; do sleep 600; done'\n\
    [jobs.two]\nschedule = '* * * * * *'\ncommand = 'trap \"\" TERM; echo two $$; while :; do sleep 600; done'\n";

fn cron(scenario: &Scenario, id: &str) -> RunningProcess {
    let mut command = scenario.tenure(["cron", "jobs.toml", "--json", "--id", id]);
    RunningProcess::start(command.args(scenario.timing().options()))
}

/// A leader, the term it leads under, its two commands, and one that stands by.
fn two_commands(scenario: &Scenario) -> (RunningProcess, u64, [ProcessHandle; 2], RunningProcess) {
    std::fs::write(scenario.path("jobs.toml"), JOBS).unwrap();
    let leader = cron(scenario, "a");
    let term = event(&leader, "elected")["term"].as_u64().unwrap();
    let command =
        || ProcessHandle::open(leader.stdout().find("a command", |line| line.split_once(' ')?.1.parse().ok()));
    let commands = [command(), command()];
    let next = cron(scenario, "b");
    drop(event(&next, "observed"));
    (leader, term, commands, next)
}

/// Why this term ended, according to the history.
fn end_of(scenario: &Scenario, term: u64) -> String {
    let history = scenario.json(&["history", ELECTION, "--json"]);
    let ends = history.as_array().unwrap().iter().filter(|change| change["event"] != "elected");
    let reasons: Vec<&str> = ends.filter(|end| end["term"] == term).filter_map(|end| end["reason"].as_str()).collect();
    assert_eq!(reasons.len(), 1, "{history}");
    reasons[0].to_owned()
}

fn the_lease_is_released_when_all_commands_are_dead(scenario: Scenario) {
    let scenario = scenario.with_timing(LONG_LEASE);
    let (leader, term, commands, next) = two_commands(&scenario);
    let killed = Instant::now();
    leader.signal(Signal::KILL);
    let elected = event(&next, "elected");
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
    assert!(commands.iter().all(ProcessHandle::is_dead) && elected["term"].as_u64() > Some(term));
    assert_eq!(end_of(&scenario, term), "crashed");
}

#[test]
fn the_lease_of_a_killed_scheduler_is_released_when_all_its_commands_are_dead() {
    the_lease_is_released_when_all_commands_are_dead(Scenario::new(&Sqlite, tenure()));
}

#[test]
fn the_same_on_redis() {
    the_lease_is_released_when_all_commands_are_dead(Scenario::new(&Redis, tenure()));
}

#[test]
fn the_same_on_postgres() {
    the_lease_is_released_when_all_commands_are_dead(Scenario::new(&WITH_TABLES, tenure()));
}

/// What its command has started may be alive, and nobody is left who could tell.
#[test]
fn when_a_guard_is_killed_as_well_the_others_do_not_release_the_lease() {
    let scenario = Scenario::new(&Redis, tenure());
    let (leader, term, commands, next) = two_commands(&scenario);
    signal_all([&leader.process, &commands[0].parent()], Signal::KILL);
    drop(event(&next, "elected"));
    assert!(commands.iter().all(ProcessHandle::is_dead));
    assert_eq!(end_of(&scenario, term), "expired");
}
