//! Commands that are hard to end: daemons that are faster than a look, and processes that somebody else holds on to.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tenure_cli::supervise::cage::Cage;
use tenure_cli::supervise::{Exit, Report, clock};
use tenure_core::Instant;

use crate::support::{Bench, within_patience};

async fn start_hopping(bench: &mut Bench) {
    let script = bench.with_program("hopper", include_str!("programs/hopper.c"), "$hopper $WORDS; exec sleep 600");
    bench.start(&script).await;
    assert_eq!(bench.words.next().await, "hops");
}

/// A look at every process takes about a hundred times as long as a hop, and the hops leave ever more to look at.
const WITHOUT_LOOKING_LONG: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_daemon_that_is_faster_than_a_look_is_dead_when_the_end_is_reported() {
    let mut bench = Bench::new();
    start_hopping(&mut bench).await;
    let asked_at = clock::now();
    bench.supervisor.terminate(Instant::ZERO).unwrap();
    assert_eq!(bench.report().await, Report::Stopped(Exit::Signal(9)));
    assert!(clock::now() < asked_at + WITHOUT_LOOKING_LONG);
}

#[tokio::test]
async fn a_daemon_that_is_faster_than_a_look_is_dead_when_the_death_of_its_guard_is_reported() {
    let mut bench = Bench::new();
    start_hopping(&mut bench).await;
    let asked_at = clock::now();
    bench.supervisor.kill_guard().unwrap();
    assert_eq!(bench.report().await, Report::GuardDied);
    assert!(clock::now() < asked_at + WITHOUT_LOOKING_LONG);
}

/// Where the machine has such a thing, as `tenure doctor` says.
#[tokio::test]
async fn a_control_group_is_removed_with_its_guard_however_that_ends() {
    let Ok(cage) = Cage::make() else { return };
    let home = cage.path().parent().unwrap().to_owned();
    let groups = || -> HashSet<_> { fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().path()).collect() };
    for kill in [false, true] {
        let mut bench = Bench::new();
        let command = bench.start("exec sleep 600").await;
        let group = fs::read_to_string(format!("/proc/{}/cgroup", command.pid.as_raw_nonzero())).unwrap();
        let group = group.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
        let group = home.join(Path::new(group).file_name().unwrap());
        assert!(groups().contains(&group), "{} is not in {:?}", group.display(), groups());
        if kill {
            bench.supervisor.kill_guard().unwrap();
            assert_eq!(bench.report().await, Report::GuardDied);
            drop(bench);
        } else {
            within_patience(bench.supervisor.shutdown()).await;
        }
        assert!(!groups().contains(&group));
    }
}
