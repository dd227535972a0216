//! Commands that are hard to end: daemons that are faster than a look, and processes that somebody else holds on to.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tenure_cli::supervise::cgroup::Cgroup;
use tenure_cli::supervise::{CommandExit, GuardReport, clock};
use tenure_core::Instant;

use crate::support::{GuardBench, within_patience};

async fn start_hopping(bench: &mut GuardBench) {
    let script = bench.with_program("hopper", include_str!("programs/hopper.c"), "$hopper $WORDS; exec sleep 600");
    bench.start(&script).await;
    assert_eq!(bench.words.next().await, "hops");
}

/// A look at every process takes about a hundred times as long as a hop, and the hops leave ever more to look at.
const WITHOUT_LOOKING_LONG: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_daemon_that_is_faster_than_a_look_is_dead_when_the_end_is_reported() {
    let mut bench = GuardBench::new();
    start_hopping(&mut bench).await;
    let asked_at = clock::now();
    bench.supervisor.terminate(Instant::ZERO).unwrap();
    assert_eq!(bench.report().await, GuardReport::Stopped(CommandExit::Signal(9)));
    assert!(clock::now() < asked_at + WITHOUT_LOOKING_LONG);
}

#[tokio::test]
async fn a_daemon_that_is_faster_than_a_look_is_dead_when_the_death_of_its_guard_is_reported() {
    let mut bench = GuardBench::new();
    start_hopping(&mut bench).await;
    let asked_at = clock::now();
    bench.supervisor.kill_guard().unwrap();
    assert_eq!(bench.report().await, GuardReport::GuardDied);
    assert!(clock::now() < asked_at + WITHOUT_LOOKING_LONG);
}

/// The control group (version 2) of a process, if the kernel has such things.
fn group_of(process: &str) -> Option<String> {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap();
    groups.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}

#[tokio::test]
async fn a_command_has_a_control_group_where_there_can_be_one_and_it_is_removed_however_the_guard_ends() {
    let can_be = Cgroup::make().map(|cgroup| cgroup.path().parent().unwrap().to_owned());
    for kill in [false, true] {
        let mut bench = GuardBench::new();
        let command = bench.start("exec sleep 600").await;
        let group = group_of(&command.pid.to_string());
        assert_eq!(group != group_of("self"), can_be.is_ok(), "{group:?}");
        let name = group.as_deref().and_then(|group| Path::new(group).file_name()).unwrap_or_default();
        // Elsewhere this is what never was.
        let place = can_be.as_deref().unwrap_or(Path::new("/nowhere")).join(name);
        assert_eq!(place.exists(), can_be.is_ok(), "{}", place.display());
        if kill {
            bench.supervisor.kill_guard().unwrap();
            assert_eq!(bench.report().await, GuardReport::GuardDied);
            drop(bench);
        } else {
            assert!(within_patience(bench.supervisor.shutdown()).await);
        }
        assert!(!place.exists(), "{}", place.display());
    }
}
