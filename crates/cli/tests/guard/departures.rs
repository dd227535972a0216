//! The death of either side.

use std::os::fd::OwnedFd;
use std::time::Duration;

use tenure_cli::supervise::{CommandExit, GuardReport, Supervisor, clock};
use tenure_testkit::process::ProcessHandle;
use tokio::time::timeout;

use crate::support::{GuardBench, PATIENCE, after, guard_program, is_readable, within_patience};

/// A command, its child, and a daemon that has left its group and its session.
const TREE: &str = "sleep 600 & echo $! > $WORDS; \
                    (setsid sh -c 'echo $$ > $WORDS; while :; do sleep 600; done' < /dev/null &); wait; sleep 600";

async fn start_tree(bench: &mut GuardBench) -> [ProcessHandle; 3] {
    let command = bench.start(TREE).await;
    [command, bench.words.next_process().await, bench.words.next_process().await]
}

/// A life line, and the end at which a rival waits for it to break.
fn life_line() -> (OwnedFd, OwnedFd) {
    let (rival, life_line) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    (life_line, rival)
}

#[tokio::test]
async fn when_tenure_is_gone_everything_dies_and_only_then_the_life_line_breaks() {
    let (life_line, rival) = life_line();
    let mut bench = GuardBench::with_life_line(Some(life_line));
    let tree = start_tree(&mut bench).await;
    assert!(!is_readable(&rival, Duration::ZERO), "the life line broke while the command ran");
    // All that the guard sees of the death of a process is that its end of the line closes.
    drop(bench);
    assert!(is_readable(&rival, PATIENCE), "the life line did not break");
    assert!(tree.iter().all(ProcessHandle::is_dead));
}

#[tokio::test]
async fn the_life_line_holds_between_two_commands() {
    let (life_line, rival) = life_line();
    let mut bench = GuardBench::with_life_line(Some(life_line));
    bench.start("exit 0").await;
    assert_eq!(bench.report().await, GuardReport::Ended(CommandExit::Code(0)));
    assert!(!is_readable(&rival, Duration::ZERO));
    bench.start("exit 1").await;
    assert_eq!(bench.report().await, GuardReport::Ended(CommandExit::Code(1)));
    assert!(!is_readable(&rival, Duration::ZERO));
}

#[tokio::test]
async fn when_the_guard_is_killed_its_death_is_reported_once_everything_is_dead() {
    let mut bench = GuardBench::new();
    let tree = start_tree(&mut bench).await;
    bench.supervisor.kill_guard().unwrap();
    assert_eq!(bench.report().await, GuardReport::GuardDied);
    assert!(tree.iter().all(ProcessHandle::is_dead));
    assert_eq!(bench.report().await, GuardReport::GuardDied);
}

#[tokio::test]
async fn what_a_guard_reported_is_heard_although_it_died_with_orders_that_it_had_not_read() {
    let mut bench = GuardBench::new();
    let work = bench.script("trap 'echo heard > $WORDS' USR1; echo $$ > $WORDS; while :; do sleep 1; done");
    bench.supervisor.start(&work).unwrap();
    let guard = bench.words.next_process().await.parent();
    // The guard reads orders only after it has reported the start, so that this one is behind the report.
    bench.supervisor.signal(rustix::process::Signal::USR1.as_raw()).unwrap();
    assert_eq!(bench.words.next().await, "heard");
    let _stopped = guard.pause();
    for _ in 0..3 {
        bench.supervisor.trust(work.trust).unwrap();
    }
    bench.supervisor.kill_guard().unwrap();
    guard.await_end("the guard");
    assert_eq!(within_patience(bench.supervisor.next()).await, GuardReport::Starting);
    assert!(matches!(bench.report().await, GuardReport::Started { .. }));
    assert_eq!(bench.report().await, GuardReport::GuardDied);
}

#[tokio::test]
async fn the_clean_up_after_one_guard_spares_what_another_guards() {
    let (mut dying, mut living) = (GuardBench::new(), GuardBench::new());
    let dead = start_tree(&mut dying).await;
    let spared = start_tree(&mut living).await;
    dying.supervisor.kill_guard().unwrap();
    assert_eq!(dying.report().await, GuardReport::GuardDied);
    assert!(dead.iter().all(ProcessHandle::is_dead));
    assert!(!spared.iter().any(ProcessHandle::is_dead));
    dying.supervisor = Supervisor::launch(guard_program(), rustix::stdio::stdin(), None, &[]).unwrap();
    dying.start("exit 4").await;
    assert_eq!(dying.report().await, GuardReport::Ended(CommandExit::Code(4)));
}

#[tokio::test]
async fn shutting_down_returns_when_everything_is_dead() {
    let (life_line, rival) = life_line();
    let mut bench = GuardBench::with_life_line(Some(life_line));
    let tree = start_tree(&mut bench).await;
    let guard = tree[0].parent();
    within_patience(bench.supervisor.shutdown()).await;
    assert!(tree.iter().all(ProcessHandle::is_dead) && guard.is_dead());
    assert!(is_readable(&rival, Duration::ZERO));
}

#[tokio::test]
async fn waiting_for_a_report_can_be_given_up_and_taken_up_again() {
    let mut bench = GuardBench::new();
    let work = bench.script("read go < $GO; exit 6");
    bench.supervisor.start(&work).unwrap();
    let mut reports = Vec::new();
    let patience = after(PATIENCE);
    while reports.len() < 3 && clock::now() < patience {
        // Most of these calls are dropped before there is anything to report.
        if let Ok(report) = timeout(Duration::from_micros(50), bench.supervisor.next()).await {
            reports.push(report);
            bench.go();
        }
    }
    assert!(
        matches!(
            reports[..],
            [GuardReport::Starting, GuardReport::Started { .. }, GuardReport::Ended(CommandExit::Code(6))]
        ),
        "{reports:?}"
    );
}
