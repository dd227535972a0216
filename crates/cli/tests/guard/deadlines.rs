//! When commands are asked to end, and when they are ended.

use std::time::Duration;

use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tenure_cli::supervise::{CommandExit, GuardReport, clock};
use tenure_core::Instant;

use crate::support::{GuardBench, after, trust_for};

const KILLED: GuardReport = GuardReport::Stopped(CommandExit::Signal(9));
const TERMINATED: GuardReport = GuardReport::Stopped(CommandExit::Signal(15));
/// Says when it runs, and does not listen.
const STUBBORN: &str = "trap '' TERM; echo ready > $WORDS; while :; do sleep 600; done";
/// Says when it runs and when it is asked to end, and then ends.
const POLITE: &str = "trap 'echo asked > $WORDS; exit 7' TERM; echo ready > $WORDS; while :; do sleep 600 & wait; done";

#[tokio::test]
async fn a_command_that_ignores_sigterm_is_killed_at_kill_at_and_not_before() {
    let mut bench = GuardBench::new();
    bench.start(STUBBORN).await;
    assert_eq!(bench.words.next().await, "ready");
    let trust = trust_for(Duration::from_millis(100), Duration::from_millis(400));
    bench.supervisor.trust(trust).unwrap();
    assert_eq!(bench.report().await, KILLED);
    assert!(clock::now() >= trust.kill_at);
}

#[tokio::test]
async fn without_an_extension_of_trust_the_command_is_asked_to_end_at_stop_at_and_not_before() {
    let mut bench = GuardBench::new();
    bench.start(POLITE).await;
    assert_eq!(bench.words.next().await, "ready");
    let trust = trust_for(Duration::from_millis(300), Duration::from_secs(60));
    bench.supervisor.trust(trust).unwrap();
    assert_eq!(bench.words.next().await, "asked");
    assert!(clock::now() >= trust.stop_at);
    assert_eq!(bench.report().await, GuardReport::Stopped(CommandExit::Code(7)));
}

#[tokio::test]
async fn without_an_extension_of_trust_nothing_of_the_tree_is_left() {
    let mut bench = GuardBench::new();
    let command = bench.start("sleep 600 & echo $! > $WORDS; wait").await;
    let child = bench.words.next_process().await;
    bench.supervisor.trust(trust_for(Duration::from_millis(100), Duration::from_millis(200))).unwrap();
    let report = bench.report().await;
    assert!(matches!(report, GuardReport::Stopped(_)), "{report:?}");
    assert!(command.is_dead() && child.is_dead());
}

#[tokio::test]
async fn an_extension_of_trust_lets_the_command_live_past_the_old_deadline() {
    let mut bench = GuardBench::new();
    let command = bench.start("while :; do echo alive > $WORDS; sleep 0.1; done").await;
    let old = trust_for(Duration::from_secs(2), Duration::from_millis(2_200));
    bench.supervisor.trust(old).unwrap();
    bench.supervisor.trust(trust_for(Duration::from_secs(100), Duration::from_secs(200))).unwrap();
    while clock::now() < old.kill_at + Duration::from_millis(500) {
        assert_eq!(bench.words.next().await, "alive");
    }
    assert!(!command.is_dead());
}

#[tokio::test]
async fn trust_that_ended_unnoticed_leaves_no_grace() {
    let mut bench = GuardBench::new();
    bench.start(POLITE).await;
    assert_eq!(bench.words.next().await, "ready");
    bench.supervisor.trust(trust_for(Duration::ZERO, Duration::ZERO)).unwrap();
    assert_eq!(bench.report().await, KILLED);
    assert!(bench.words.are_all_read(), "it was asked to end when there was no time left");
}

#[tokio::test]
async fn terminating_asks_at_once_and_kills_at_the_given_time() {
    let mut bench = GuardBench::new();
    bench.start(STUBBORN).await;
    assert_eq!(bench.words.next().await, "ready");
    let kill_at = after(Duration::from_millis(300));
    bench.supervisor.terminate(kill_at).unwrap();
    assert_eq!(bench.report().await, KILLED);
    assert!(clock::now() >= kill_at);
}

#[tokio::test]
async fn terminating_with_a_deadline_that_is_past_kills_without_asking() {
    let mut bench = GuardBench::new();
    bench.start(POLITE).await;
    assert_eq!(bench.words.next().await, "ready");
    bench.supervisor.terminate(Instant::from_nanos(1)).unwrap();
    assert_eq!(bench.report().await, KILLED);
    assert!(bench.words.are_all_read(), "it was asked to end when there was no time left");
}

#[tokio::test]
async fn a_command_that_is_stopped_can_still_act_on_the_request_to_end() {
    let mut bench = GuardBench::new();
    bench.start("echo ready > $WORDS; kill -STOP $$; sleep 600").await;
    assert_eq!(bench.words.next().await, "ready");
    bench.supervisor.terminate(after(Duration::from_secs(60))).unwrap();
    assert_eq!(bench.report().await, TERMINATED);
}

#[tokio::test]
async fn a_guard_that_was_paused_hears_the_newest_trust_before_it_acts_on_the_old_one() {
    let mut bench = GuardBench::new();
    let command =
        bench.start("trap 'echo heard > $WORDS' USR1; echo ready > $WORDS; while :; do sleep 600 & wait; done").await;
    assert_eq!(bench.words.next().await, "ready");
    let guard = command.parent();
    kill_process(guard.pid, Signal::STOP).unwrap();
    waitid(WaitId::Pid(guard.pid), WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT).unwrap();
    bench.supervisor.trust(trust_for(Duration::ZERO, Duration::ZERO)).unwrap();
    bench.supervisor.trust(trust_for(Duration::from_secs(100), Duration::from_secs(200))).unwrap();
    bench.supervisor.signal(Signal::USR1.as_raw()).unwrap();
    kill_process(guard.pid, Signal::CONT).unwrap();
    assert_eq!(bench.words.next().await, "heard");
    assert!(!command.is_dead());
}

#[tokio::test]
async fn a_guard_that_answers_is_left_alone_and_one_that_does_not_is_killed() {
    let mut bench = GuardBench::new();
    let command = bench.start("exec sleep 600").await;
    bench.supervisor.trust(trust_for(Duration::from_secs(100), Duration::from_secs(200))).unwrap();
    // Waits because only time tells that nothing happens: longer than an answer is waited for.
    assert!(tokio::time::timeout(Duration::from_secs(5), bench.supervisor.next()).await.is_err());
    assert!(!command.is_dead());
    let guard = command.parent();
    let _stopped = guard.pause();
    bench.supervisor.trust(trust_for(Duration::from_secs(100), Duration::from_secs(200))).unwrap();
    assert_eq!(bench.report().await, GuardReport::GuardDied);
    assert!(command.is_dead() && guard.is_dead());
}
