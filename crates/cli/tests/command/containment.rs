//! What keeps hold of the processes of a command, and whom it leaves alone.

use std::process::Command;

use rustix::process::Signal;
use tenure_testkit::eventually;
use tenure_testkit::process::{ProcessHandle, Victim};
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::{Scenario, sh};

use crate::support::{arguments, scenario, scenario_without_store};

/// `tenure` with these arguments, started by a shell script that ends with `exec "$@"`, in namespaces of its own.
fn unshared(scenario: &Scenario, namespaces: &str, script: &str, args: &[String]) -> Command {
    let tenure = scenario.tenure(args);
    // As a plain user, root of nothing but these namespaces; root needs none of his own.
    let user = if rustix::process::geteuid().is_root() { "" } else { "--map-root-user" };
    // With a pid namespace it stays between, and nobody outlives it.
    let kill = if namespaces.contains('p') { "--kill-child" } else { "" };
    let words = ["unshare", kill, namespaces, user, "sh", "-c", script, "sh"];
    let mut command = Command::new("env");
    command.args(words.into_iter().filter(|word| !word.is_empty())).arg(tenure.get_program()).args(tenure.get_args());
    command.current_dir(scenario.path("")).env("HOME", scenario.path("home"));
    command
}

fn finish(scenario: &Scenario, namespaces: &str, script: &str, args: &[String]) -> FinishedProcess {
    RunningProcess::start(&mut unshared(scenario, namespaces, script, args)).finish()
}

#[test]
fn with_the_proc_of_another_pid_namespace_no_command_is_run() {
    let scenario = scenario();
    let run = arguments(&scenario, "run", &[], &sh("echo ran"));
    for (script, sentence) in [
        // Which /proc there is, is decided by who mounted it.
        ("exec \"$@\"", "/proc shows another pid namespace"),
        ("umount -l /proc; exec \"$@\"", "/proc is missing"),
    ] {
        let finished = finish(&scenario, "-pfm", script, &run);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(126), ""), "{finished:?}");
        assert!(finished.stderr.contains(sentence), "{finished:?}");
        assert!(finished.stderr.contains("mount -t proc proc /proc"), "{finished:?}");
    }
    let mounted = finish(&scenario, "-pfm", "mount -t proc proc /proc && exec \"$@\"", &run);
    assert_eq!((mounted.code, mounted.stdout.as_str()), (Some(0), "ran"), "{mounted:?}");
}

#[test]
fn doctor_says_which_containment_is_in_force() {
    let scenario = scenario();
    let detail = |finished: &FinishedProcess| {
        let line = finished.stdout.lines().find(|line| line.contains("containment: ")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{finished:?}"))
    };
    let doctor = ["doctor".to_owned()];
    let here = detail(&scenario.finish(&doctor));
    assert!(here.contains("control group"), "{here}");
    let without = finish(&scenario, "-m", "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"", &doctor);
    assert!(detail(&without).contains("found by their ancestors"), "{without:?}");
    let foreign = finish(&scenario, "-pf", "exec \"$@\"", &doctor);
    assert_eq!(foreign.code, Some(1), "{foreign:?}");
    assert!(detail(&foreign).starts_with("bad"), "{foreign:?}");
}

#[test]
fn without_a_control_group_a_daemon_that_is_faster_than_a_look_is_ended_as_well() {
    let scenario = scenario();
    std::fs::write(scenario.path("hopper.c"), include_str!("../guard/programs/hopper.c")).unwrap();
    assert!(
        Command::new("cc")
            .args(["-o", "hopper", "hopper.c"])
            .current_dir(scenario.path(""))
            .status()
            .unwrap()
            .success()
    );
    assert!(Command::new("mkfifo").arg(scenario.path("words")).status().unwrap().success());
    let run = arguments(&scenario, "run", &[], &sh("./hopper words; read word < words; echo $word; exec sleep 600"));
    let mut leader = RunningProcess::start(&mut unshared(
        &scenario,
        "-m",
        "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"",
        &run,
    ));
    leader.stdout().find("a daemon", |line| (line == "hops").then_some(()));
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
}

#[test]
fn what_a_tenure_and_its_guard_left_behind_when_both_were_killed_is_ended_by_the_next_one() {
    let scenario = scenario();
    let daemon = "(setsid sh -c 'trap \"\" HUP TERM; echo $$; exec sleep 600' < /dev/null &); exec sleep 600";
    let mut leader = scenario.candidate_running("a", &[], &sh(daemon));
    let daemon = ProcessHandle::open(scenario.words.next("the daemon").parse().unwrap());
    let is_contained = scenario.finish(["doctor"]).stdout.contains("which the kernel kills as a whole");
    let guard = leader.running.process.only_child();
    guard.signal(Signal::STOP);
    leader.signal(Signal::KILL);
    guard.signal(Signal::KILL);
    assert_eq!(leader.running.exit().code(), None);
    guard.await_end("the guard");
    // Any other leader of this machine may have ended it by now.
    assert!(is_contained || !daemon.is_dead());
    assert_eq!(scenario.finish(["run", "another", "--", "true"]).code, Some(0));
    assert_eq!(daemon.is_dead(), is_contained);
    daemon.signal(Signal::KILL);
}

#[test]
fn what_a_killed_leader_left_behind_is_ended_before_the_next_leader_works() {
    is_ended_before_the_next_leader_works(|leader, guard| {
        guard.signal(Signal::STOP);
        leader.signal(Signal::KILL);
        guard.signal(Signal::KILL);
    });
}

#[test]
fn what_a_killed_guard_of_a_stopped_leader_left_behind_is_ended_before_the_next_leader_works() {
    is_ended_before_the_next_leader_works(|leader, guard| {
        leader.signal(Signal::STOP);
        guard.signal(Signal::KILL);
    });
}

fn is_ended_before_the_next_leader_works(strike: impl Fn(&ProcessHandle, &ProcessHandle)) {
    let scenario = scenario();
    let work = sh("(echo child; exec sleep 600) & echo $!; wait");
    let leader = scenario.candidate_running("a", &[], &work);
    let words = || {
        let ids = [scenario.words.next("a word"), scenario.words.next("another")];
        ProcessHandle::open(ids.iter().find_map(|word| word.parse().ok()).unwrap())
    };
    let child = Victim(words());
    let is_contained = scenario.finish(["doctor"]).stdout.contains("which the kernel kills as a whole");
    let _next = scenario.candidate_running("b", &[], &work);
    eventually("somebody to stand by", || scenario.status()["standing_by"] != serde_json::json!([]));
    let leader = Victim(leader.running.process.clone());
    let guard = leader.0.only_child();
    strike(&leader.0, &guard);
    guard.await_end("the guard");
    let next = Victim(words());
    assert!(!next.0.is_dead());
    assert_eq!(child.0.is_dead(), is_contained, "a child of the command is no daemon, and lives on all the same");
}

/// A command that says which process it is, each time that it is started.
const MAIN: &str = "echo main $$; exec sleep 600";

/// The process that comes after this word in what is printed.
fn process(running: &RunningProcess, word: &str) -> ProcessHandle {
    let id = running.stdout().find(word, |line| line.strip_prefix(word)?.trim().parse().ok());
    ProcessHandle::open(id)
}

#[test]
fn children_that_were_there_before_and_what_they_leave_behind_are_left_alone() {
    let scenario = scenario();
    assert!(Command::new("mkfifo").arg(scenario.path("go")).status().unwrap().success());
    let tenure = scenario.tenure(arguments(&scenario, "run", &[], &sh(MAIN)));
    let mut command = Command::new("sh");
    let helpers = "sleep 600 & echo helper $!; (sleep 600 & echo stray $!; read go < go) & exec \"$@\"";
    command
        .args(["-c", helpers, "sh"])
        .arg(tenure.get_program())
        .args(tenure.get_args())
        .current_dir(scenario.path(""));
    let mut leader = RunningProcess::start(&mut command);
    let strangers = [process(&leader, "helper"), process(&leader, "stray")].map(Victim);
    let main = process(&leader, "main");
    let parent = strangers[1].0.parent();
    std::fs::write(scenario.path("go"), "go\n").unwrap();
    parent.await_end("the parent of the stray one");
    // What the guard leaves behind is cleared away.
    main.parent().signal(Signal::KILL);
    main.await_end("the command");
    let main = process(&leader, "main");
    assert!(!strangers.iter().any(|stranger| stranger.0.is_dead()), "killed with the guard");
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
    assert!(main.is_dead());
    assert!(!strangers.iter().any(|stranger| stranger.0.is_dead()), "killed at the end");
}

#[test]
fn as_the_first_process_of_a_container_it_reaps_the_orphans_of_others_and_kills_none() {
    let scenario = scenario();
    let run = arguments(&scenario, "run", &["--json"], &sh(MAIN));
    let mut container =
        RunningProcess::start(&mut unshared(&scenario, "-pfm", "mount -t proc proc /proc && exec \"$@\"", &run));
    let elected = || container.stderr().find("the election", |line| line.contains("elected").then_some(()));
    elected();
    let first = container.process.only_child();
    let own = first.children().len();
    let id = first.pid.to_string();
    let user: &[&str] = if rustix::process::geteuid().is_root() { &[] } else { &["-U"] };
    let orphans = "(sleep 600 &); (sleep 0 &)";
    let joined =
        Command::new("nsenter").args(["-t", &id, "-p", "-m"]).args(user).args(["sh", "-c", orphans]).status().unwrap();
    assert!(joined.success());
    // The one that ends is reaped, which leaves the one that does not.
    eventually("the end of an orphan", || first.children().len() == own + 1);
    let guard = |process: &ProcessHandle| process.children().into_iter().find(|child| !child.children().is_empty());
    let guard = std::iter::successors(Some(first.clone()), guard).last().unwrap();
    guard.signal(Signal::KILL);
    elected();
    assert_eq!(first.children().len(), own + 1, "an orphan of others was killed");
    first.signal(Signal::TERM);
    assert_eq!(container.code(), 143);
}

/// A process that may not be traced is hidden from its own user where `/proc` hides those of others.
#[test]
fn a_daemon_that_proc_hides_is_ended_as_well() {
    // The user makes the file of the store, and so owns it.
    let scenario = scenario_without_store();
    std::fs::write(scenario.path("hidden.c"), include_str!("programs/hidden.c")).unwrap();
    assert!(
        Command::new("cc")
            .args(["-o", "hidden", "hidden.c"])
            .current_dir(scenario.path(""))
            .status()
            .unwrap()
            .success()
    );
    let scenario = scenario.open_to_everybody();
    let run = arguments(&scenario, "run", &[], &sh("(./hidden &); exec sleep 600"));
    // As a user whom it binds, without a control group.
    let hide = "mount -t tmpfs none /sys/fs/cgroup && mount -t proc -o hidepid=2 proc /proc && shift && \
                exec setpriv --reuid 65534 --regid 65534 --clear-groups ./tenure \"$@\"";
    let mut leader = RunningProcess::start(&mut unshared(&scenario, "-m", hide, &run));
    let first = Victim(process(&leader, "hidden"));
    assert!(!first.0.is_dead());
    leader.process.only_child().signal(Signal::KILL);
    let next = Victim(process(&leader, "hidden"));
    assert!(first.0.is_dead() && !next.0.is_dead());
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
    assert!(next.0.is_dead());
}
