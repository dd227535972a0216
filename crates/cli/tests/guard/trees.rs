//! Descendants of the command: none may be left when its end is reported.

use std::time::Duration;

use rustix::process::Signal;
use tenure_cli::supervise::{CommandExit, GuardReport, clock};
use tenure_core::Instant;
use tenure_testkit::process::ProcessHandle;

use crate::support::{GuardBench, after};

/// Leaves its parent, its process group and its session, and does not listen.
const DAEMON: &str = "(setsid sh -c 'trap \"\" TERM HUP; echo $$ > $WORDS; while :; do sleep 600; done' < /dev/null &)";

#[tokio::test]
async fn grandchildren_in_the_same_group_are_dead_when_the_end_is_reported() {
    let mut bench = GuardBench::new();
    let command = bench.start("sh -c 'sleep 600 & echo $! > $WORDS; wait' & echo $! > $WORDS; wait").await;
    let descendants = [bench.words.next_process().await, bench.words.next_process().await];
    bench.supervisor.terminate(Instant::ZERO).unwrap();
    assert_eq!(bench.report().await, GuardReport::Stopped(CommandExit::Signal(9)));
    assert!(command.is_dead() && descendants.iter().all(ProcessHandle::is_dead));
}

#[tokio::test]
async fn a_daemon_is_dead_when_the_end_is_reported() {
    let mut bench = GuardBench::new();
    let command = bench.start(&format!("{DAEMON}; exec sleep 600")).await;
    let daemon = bench.words.next_process().await;
    let kill_at = after(Duration::from_millis(300));
    bench.supervisor.terminate(kill_at).unwrap();
    // The command itself obeys, the daemon does not: it decides when the end has come.
    assert_eq!(bench.report().await, GuardReport::Stopped(CommandExit::Signal(15)));
    assert!(clock::now() >= kill_at);
    assert!(command.is_dead() && daemon.is_dead());
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_asked_to_end_and_its_own_exit_is_reported() {
    let mut bench = GuardBench::new();
    bench.start("sleep 600 & echo $! > $WORDS; read go < $GO; exit 3").await;
    let left_behind = bench.words.next_process().await;
    bench.go();
    assert_eq!(bench.report().await, GuardReport::Ended(CommandExit::Code(3)));
    assert!(left_behind.is_dead());
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_killed_when_the_grace_is_over() {
    let mut bench = GuardBench::new();
    let mut work = bench.script(&format!("{DAEMON}; read go < $GO; exit 0"));
    work.grace = Duration::from_millis(200);
    bench.start_work(&work).await;
    let daemon = bench.words.next_process().await;
    bench.go();
    assert_eq!(bench.report().await, GuardReport::Ended(CommandExit::Code(0)));
    assert!(daemon.is_dead());
}

#[tokio::test]
async fn a_tree_that_forks_while_it_is_killed_is_killed_whole() {
    let mut bench = GuardBench::new();
    // Eight loops, each of which starts daemons that live for a moment.
    let busy = "while :; do setsid sleep 0.02 & wait; done";
    let script = format!("for i in 1 2 3 4 5 6 7 8; do sh -c '{busy}' & done; echo ready > $WORDS; wait");
    bench.start(&script).await;
    assert_eq!(bench.words.next().await, "ready");
    bench.supervisor.terminate(Instant::ZERO).unwrap();
    assert_eq!(bench.report().await, GuardReport::Stopped(CommandExit::Signal(9)));
}

#[tokio::test]
async fn a_daemon_that_keeps_replacing_itself_is_caught() {
    let mut bench = GuardBench::new();
    let mut work = bench.script("sh -c \"$HOP\"; sleep 600");
    work.env_set.push(("HOP".into(), "setsid sh -c \"$HOP\" & echo hop > $WORDS".into()));
    bench.start_work(&work).await;
    for _ in 0..10 {
        assert_eq!(bench.words.next().await, "hop");
    }
    bench.supervisor.terminate(Instant::ZERO).unwrap();
    assert_eq!(bench.report().await, GuardReport::Stopped(CommandExit::Signal(9)));
}

#[tokio::test]
async fn a_guard_that_can_open_no_files_still_kills_the_group_of_the_command() {
    let mut bench = GuardBench::new();
    let command = bench.start("trap '' TERM; sleep 600 & echo $! > $WORDS; wait").await;
    let child = bench.words.next_process().await;
    command.parent().limit_files(4);
    bench.supervisor.terminate(after(Duration::from_millis(100))).unwrap();
    assert_eq!(bench.report().await, GuardReport::Stopped(CommandExit::Signal(9)));
    assert!(command.is_dead() && child.is_dead());
}

#[tokio::test]
async fn a_guard_that_cannot_wait_for_deadlines_ends_everything_and_then_itself() {
    let mut bench = GuardBench::new();
    let command = bench.start("sleep 600 & echo $! > $WORDS; wait").await;
    let child = bench.words.next_process().await;
    // With fewer files allowed than it waits for, the kernel does not let it wait; an order makes it find out.
    command.parent().limit_files(1);
    bench.supervisor.signal(Signal::CONT.as_raw()).unwrap();
    assert_eq!(bench.report().await, GuardReport::Stopped(CommandExit::Signal(9)));
    assert!(command.is_dead() && child.is_dead());
    assert_eq!(bench.report().await, GuardReport::GuardDied);
}
