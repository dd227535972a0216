//! How commands start and end, and what they are given.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::{env, fs, io};

use rustix::process::{Signal, getsid, kill_process};
use tenure_cli::supervise::{CommandExit, GuardReport, SpawnFailure, clock};
use tenure_core::Instant;

use crate::support::GuardBench;

#[tokio::test]
async fn the_exit_code_of_the_command_is_reported() {
    let mut bench = GuardBench::new();
    bench.start("exit 42").await;
    assert_eq!(bench.report().await, GuardReport::Ended(CommandExit::Code(42)));
}

#[tokio::test]
async fn the_signal_that_ended_the_command_is_reported() {
    let mut bench = GuardBench::new();
    // The guard survives this signal, and the command must not have inherited that.
    bench.start("kill -TERM $$; exit 0").await;
    assert_eq!(bench.report().await, GuardReport::Ended(CommandExit::Signal(Signal::TERM.as_raw())));
}

/// Where it may: the command asks for the same.
#[tokio::test]
async fn the_guard_comes_before_others_and_its_command_does_not() {
    let mut bench = GuardBench::new();
    bench.start("{ chrt --rr 1 echo allowed; chrt --pid $PPID; chrt --pid $$; } > $WORDS.log").await;
    assert_eq!(bench.report().await, GuardReport::Ended(CommandExit::Code(0)));
    let policies = fs::read_to_string(bench.path("words.log")).unwrap();
    let of = |pid: usize| policies.lines().filter(|line| line.contains("policy")).nth(pid).unwrap().to_owned();
    assert_eq!(of(0).contains("SCHED_RR"), policies.contains("allowed"), "{policies}");
    assert!(of(1).contains("SCHED_OTHER"), "{policies}");
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_reported_as_not_found() {
    let mut bench = GuardBench::new();
    let mut work = bench.script("");
    work.program = "/nowhere/to/be/found".into();
    bench.supervisor.start(&work).unwrap();
    let report = bench.report().await;
    let GuardReport::SpawnFailed { kind: SpawnFailure::NotFound, message } = report else { panic!("{report:?}") };
    assert!(message.contains("/nowhere/to/be/found"), "{message}");
}

#[tokio::test]
async fn a_file_that_is_no_program_is_reported_as_not_executable() {
    let mut bench = GuardBench::new();
    let file = bench.path("file");
    fs::write(&file, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let mut work = bench.script("");
    work.program = file.into();
    bench.supervisor.start(&work).unwrap();
    let report = bench.report().await;
    assert!(matches!(report, GuardReport::SpawnFailed { kind: SpawnFailure::NotExecutable, .. }), "{report:?}");
}

#[tokio::test]
async fn a_command_whose_trust_has_ended_is_not_started() {
    let mut bench = GuardBench::new();
    let mut work = bench.script("echo started > $WORDS");
    work.trust.stop_at = clock::now();
    bench.supervisor.start(&work).unwrap();
    let report = bench.report().await;
    assert!(matches!(report, GuardReport::SpawnFailed { kind: SpawnFailure::TrustEnded, .. }), "{report:?}");
    assert!(bench.words.are_all_read());
}

#[tokio::test]
async fn arguments_that_are_too_long_are_refused_and_harm_nothing() {
    let mut bench = GuardBench::new();
    let mut work = bench.script("exit 5");
    work.args.push("x".repeat(300_000).into());
    let refusal = bench.supervisor.start(&work).unwrap_err();
    assert_eq!(refusal.kind(), io::ErrorKind::ArgumentListTooLong);
    assert!(refusal.to_string().contains("put long arguments into a file"), "{refusal}");
    bench.start("exit 5").await;
    assert_eq!(bench.report().await, GuardReport::Ended(CommandExit::Code(5)));
}

#[tokio::test]
async fn the_longest_arguments_that_are_allowed_arrive_whole() {
    let mut bench = GuardBench::new();
    let mut work = bench.script("echo ${#0} > $WORDS");
    work.args.push("x".repeat(120_000).into());
    bench.start_work(&work).await;
    assert_eq!(bench.words.next().await, "120000");
}

#[tokio::test]
async fn after_one_command_has_ended_the_next_can_start_but_not_before() {
    let mut bench = GuardBench::new();
    bench.start("sleep 600").await;
    let second = bench.script("exit 2");
    assert_eq!(bench.supervisor.start(&second).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
    bench.supervisor.terminate(Instant::ZERO).unwrap();
    assert_eq!(bench.report().await, GuardReport::Stopped(CommandExit::Signal(Signal::KILL.as_raw())));
    bench.start_work(&second).await;
    assert_eq!(bench.report().await, GuardReport::Ended(CommandExit::Code(2)));
}

#[tokio::test]
async fn variables_are_set_and_removed_and_need_not_be_text() {
    let mut bench = GuardBench::new();
    assert!(env::var_os("CARGO_MANIFEST_DIR").is_some(), "the test needs a variable to remove");
    let mut work = bench.script(
        "printf '%s %s ' $TENURE_TERM ${CARGO_MANIFEST_DIR-removed} > $WORDS; \
                                 printf %s \"$RAW\" | od -An -tx1 > $WORDS",
    );
    work.env_set.push(("TENURE_TERM".into(), "7".into()));
    work.env_set.push(("RAW".into(), OsString::from_vec(vec![b'a', 0xff, b'b'])));
    work.env_remove.push("CARGO_MANIFEST_DIR".into());
    bench.start_work(&work).await;
    assert_eq!(bench.words.next().await, "7 removed  61 ff 62");
}

#[tokio::test]
async fn the_command_inherits_nothing_but_its_standard_streams() {
    // Something that the guard inherits without knowing of it.
    let _inheritable = rustix::pipe::pipe().unwrap();
    let (_, life_line) = rustix::pipe::pipe().unwrap();
    let mut bench = GuardBench::with_life_line(Some(life_line));
    // The kernel closes what is not inherited while the program is loaded, so it has to run before one can look; and a
    // word of this shell's own would come while it has more files open, so that another one says it.
    let command = bench.start("sh -c 'echo ready > $WORDS'; sleep 600; exit").await;
    assert_eq!(bench.words.next().await, "ready");
    let listing = fs::read_dir(format!("/proc/{}/fd", command.pid.as_raw_nonzero())).unwrap();
    let mut descriptors: Vec<_> = listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    descriptors.sort();
    assert_eq!(descriptors, ["0", "1", "2"]);
}

#[tokio::test]
async fn the_guard_has_a_session_of_its_own_and_survives_the_signals_of_a_terminal() {
    let mut bench = GuardBench::new();
    let command =
        bench.start("trap 'echo heard > $WORDS' USR1; echo ready > $WORDS; while :; do sleep 600 & wait; done").await;
    assert_eq!(bench.words.next().await, "ready");
    let guard = command.parent();
    assert_eq!(getsid(Some(guard.pid)).unwrap(), guard.pid);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        kill_process(guard.pid, signal).unwrap();
    }
    bench.supervisor.signal(Signal::USR1.as_raw()).unwrap();
    assert_eq!(bench.words.next().await, "heard");
    assert!(!guard.is_dead());
}
