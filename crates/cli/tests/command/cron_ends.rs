//! How the commands of `tenure cron` are ended: their time, their leadership, or `tenure` itself is over.

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::eventually;
use tenure_testkit::process::{ProcessHandle, Victim};
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{Scenario, sh};

use crate::support::{event, every_second, jobs, scenario};

/// Ignores SIGTERM, as its child does, and prints both process ids.
const STUBBORN: &str = "trap '' TERM; sleep 1000 & echo $$ $!; wait";

/// The processes of a stubborn command, as soon as it runs.
fn processes(running: &RunningProcess) -> [ProcessHandle; 2] {
    let ids = running.stdout().next("the command");
    let (parent, child) = ids.split_once(' ').unwrap();
    [parent, child].map(|id| ProcessHandle::open(id.parse().unwrap()))
}

fn outcome(scenario: &Scenario) -> Value {
    jobs(scenario, 1)[0]["runs"][0]["outcome"].take()
}

#[test]
fn a_run_that_takes_too_long_is_ended_with_all_its_children() {
    let scenario = scenario();
    let (_, running) = every_second(&scenario, &["--timeout", "2s", "--json"], &sh(STUBBORN));
    let processes = processes(&running);
    let ended = event(&running, "ended");
    assert!(processes.iter().all(ProcessHandle::is_dead), "{ended}");
    assert_eq!((&ended["outcome"], &ended["reason"]), (&"timed_out".into(), &Value::Null));
    // It took its time and the grace: it was asked to end before.
    assert!(ended["took_ms"].as_u64().unwrap() >= 2_300, "{ended}");
}

#[test]
fn asked_to_end_it_stops_all_commands_and_leaves() {
    let scenario = scenario();
    let (_, mut running) = every_second(&scenario, &["--overlap", "allow"], &sh(STUBBORN));
    let runs = [(); 2].map(|()| processes(&running));
    running.signal(Signal::TERM);
    assert_eq!(running.exit().code(), Some(143));
    assert!(runs.iter().flatten().all(ProcessHandle::is_dead));
    assert_eq!(scenario.json(&["status", "cron-test", "--json"])[0]["leader"], Value::Null);
    assert_eq!(outcome(&scenario), "cancelled");
}

#[test]
fn killed_it_takes_its_commands_along_and_the_next_leader_runs_them_again() {
    let scenario = scenario();
    let options = ["--interrupted", "again", "--json", "--id"];
    let (_, mut killed) = every_second(&scenario, &[&options[..], &["a"]].concat(), &sh(STUBBORN));
    let processes = processes(&killed);
    killed.signal(Signal::KILL);
    killed.exit();
    for process in &processes {
        process.await_end("the command");
    }
    let (_, next) = every_second(&scenario, &[&options[..], &["b"]].concat(), &["true"]);
    let again = next.stderr().find("the run that was cut off", |line| {
        serde_json::from_str::<Value>(line).ok().filter(|event| event["event"] == "fired" && event["again"] == true)
    });
    assert_eq!(again["candidate"], "b");
}

#[test]
fn a_run_whose_leader_was_killed_shows_as_interrupted() {
    let scenario = scenario();
    let (_, mut killed) = every_second(&scenario, &[], &sh(STUBBORN));
    let processes = processes(&killed);
    assert_eq!(outcome(&scenario), "running");
    killed.signal(Signal::KILL);
    killed.exit();
    processes[0].await_end("the command");
    let (_, next) = every_second(&scenario, &["--json"], &["true"]);
    event(&next, "elected");
    let runs = jobs(&scenario, 100)[0]["runs"].take();
    assert_eq!(runs.as_array().unwrap().last().unwrap()["outcome"], "interrupted", "{runs}");
}

#[test]
fn a_command_ends_before_the_next_leader_fires() {
    let scenario = scenario();
    let (_, leader) = every_second(&scenario, &["--id", "a"], &sh(STUBBORN));
    let processes = processes(&leader);
    let (_, next) = every_second(&scenario, &["--id", "b"], &sh("echo next"));
    next.stderr().find("the line", |line| line.contains("a leads").then_some(()));
    assert_eq!(scenario.finish(["resign", "cron-test"]).code, Some(0));
    next.stdout().next("the next leader's run");
    assert!(processes.iter().all(ProcessHandle::is_dead), "two runs at once");
}

#[test]
fn a_stopped_tenure_does_not_save_its_commands() {
    let scenario = scenario();
    let (_, leader) = every_second(&scenario, &["--id", "a"], &sh(STUBBORN));
    let processes = processes(&leader);
    let _paused = leader.process.pause();
    for process in &processes {
        process.await_end("the command");
    }
}

#[test]
fn a_guard_that_was_killed_is_replaced() {
    let scenario = scenario();
    let (_, running) = every_second(&scenario, &["--json"], &sh("echo ran"));
    event(&running, "ended");
    running.stdout().next("a run");
    Victim(running.process.only_child()).0.signal(Signal::KILL);
    running.stdout().next("the next run");
    let ended = event(&running, "ended");
    assert_eq!(ended["outcome"], "succeeded", "{ended}");
}

#[test]
fn a_tick_is_run_once_although_its_guard_died_before_it_could_tell_that_the_command_runs() {
    let scenario = scenario();
    // The program is looked for in so many places that there is time between the fork and the beginning of the command.
    let path = format!("{}{}", "/x:".repeat(40_000), std::env::var("PATH").unwrap());
    let mut tenure = scenario.tenure(["cron", "* * * * * *", "--name", "test", "--json"]);
    tenure.args(scenario.timing().options()).env("PATH", path).arg("--").args(sh("echo $TENURE_TICK; exec sleep 1000"));
    let running = RunningProcess::start(&mut tenure);
    event(&running, "elected");
    let guard = running.process.only_child();
    eventually("a command", || !guard.children().is_empty());
    let stopped = guard.pause();
    let tick = running.stdout().next("the command, whose guard cannot tell of it");
    // A tick later there are renewals that it has not heard of, with which a connection ends in another way.
    event(&running, "skipped");
    Victim(guard.clone()).0.signal(Signal::KILL);
    drop(stopped);
    assert_ne!(running.stdout().next("the next tick"), tick);
    let ended = event(&running, "ended");
    assert_eq!((&ended["tick"], &ended["outcome"]), (&tick.as_str().into(), &"failed".into()), "{ended}");
}

#[test]
fn a_command_that_fails_is_tried_again_for_the_same_tick() {
    let scenario = scenario();
    let options = ["--json", "--retries", "2", "--retry-after", "50ms"];
    let (_, running) = every_second(&scenario, &options, &sh("echo $TENURE_TICK $TENURE_RETRY; [ $TENURE_RETRY = 2 ]"));
    let retrying = event(&running, "retrying");
    assert_eq!((&retrying["count"], &retrying["after_ms"]), (&1.into(), &50.into()), "{retrying}");
    assert_eq!(retrying["reason"], "failed: exit code 1");
    let ended = event(&running, "ended");
    assert_eq!(ended["outcome"], "succeeded", "{ended}");
    let tick = ended["tick"].as_str().unwrap();
    for retry in 0..3 {
        assert_eq!(running.stdout().next("an attempt"), format!("{tick} {retry}"));
    }
    eventually("the end of the run", || {
        jobs(&scenario, 100)[0]["runs"].as_array().unwrap().iter().any(|run| run["retries"] == 2)
    });
}
