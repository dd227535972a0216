//! Things that a process runs out of: files, processes, room in a pipe.

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::candidate::CandidateProcess;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::role;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::sh;
use tenure_testkit::stores::Backend;
use tenure_testkit::worker;

use crate::{PATIENT_ENOUGH, scenario};

/// Neither can open a file any more, not even one for a moment.
pub(crate) fn case_20_without_a_file_to_spare_a_leader_leads_on_and_a_stand_by_takes_over(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(PATIENT_ENOUGH);
    let mut leader = scenario.candidate("a");
    let first = ProcessHandle::open(scenario.next_start().pid);
    let mut next = scenario.candidate("b");
    next.stands_by();
    for candidate in [&leader, &next] {
        candidate.running.process.limit_files(3);
    }
    // Longer than a lease lives that is not renewed.
    assert!(!first.ends_within(scenario.timing().more_than_a_lease()));
    leader.signal(Signal::TERM);
    assert_eq!(scenario.next_start().candidate, "b");
    assert!(first.is_dead());
    next.signal(Signal::TERM);
    assert_eq!((leader.code(), next.code()), (143, 143));
    assert_eq!(scenario.status()["leader"], Value::Null);
    scenario.judge();
}

/// A user whom the kernel does not exempt from limits, and as whom nothing else runs.
const NOBODY: u32 = 65_534;

/// The guard may start no more processes.
pub(crate) fn case_26_a_process_that_cannot_be_forked_gives_the_lease_back_at_once(store: &dyn Backend) {
    let scenario = scenario(store).open_to_everybody();
    let worker = role::played_by(&scenario.copy_of(&std::env::current_exe().unwrap()), "worker");
    let start =
        |id, options: &[&str]| scenario.start(scenario.candidate_command(id, options, &worker).uid(NOBODY).gid(NOBODY));
    let leader = start("a", &[]);
    let _first = scenario.next_start();
    let (mut poor, patient) = (start("b", &[]), start("c", &["--restart", "always"]));
    poor.stands_by();
    patient.stands_by();
    // Only its own user may limit it, unless root has rights that containers take from it.
    let limit = |candidate: &CandidateProcess, processes: &str| {
        let guard = candidate.running.process.only_child().pid.to_string();
        let mut limit = Command::new("prlimit");
        limit.args([&format!("--nproc={processes}:"), "--pid", &guard]).uid(NOBODY).gid(NOBODY);
        assert!(limit.status().unwrap().success());
    };
    limit(&poor, "1");
    limit(&patient, "1");
    leader.signal(Signal::TERM);
    for candidate in [&poor, &patient] {
        let stderr = candidate.running.stderr();
        let complaint = stderr.find("the complaint", |line| line.contains("cannot run").then(|| line.to_owned()));
        assert!(complaint.contains("temporarily unavailable") && complaint.contains("ulimit -u"), "{complaint}");
    }
    assert_eq!(poor.code(), 71);
    limit(&patient, "1000");
    assert_eq!(scenario.next_start().candidate, "c", "the lease was kept, or is not tried for again");
    scenario.judge();
}

pub(crate) fn case_30_a_command_that_nobody_reads_does_not_stop_the_renewals(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(PATIENT_ENOUGH);
    let (unread, full) = pipe().unwrap();
    let mut command = scenario.candidate_command("a", &[], &sh("while :; do echo yes; done"));
    let leader = scenario.start(command.stdout(full));
    drop(command);
    let elected = leader.event("elected");
    let stand_by = scenario.candidate("b");
    stand_by.stands_by();
    // Longer than a lease lives that is not renewed.
    assert!(!leader.running.process.ends_within(scenario.timing().more_than_a_lease()));
    assert_eq!((&scenario.status()["leader"], &scenario.status()["term"]), (&"a".into(), &elected["term"]));
    drop(unread);
}

pub(crate) fn case_30_a_standard_error_that_nobody_reads_stops_neither_the_command_nor_the_end(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(PATIENT_ENOUGH);
    let (unread, full) = blocked_pipe();
    let mut command = scenario.candidate_command("a", &["--log", "trace"], &worker::command());
    let mut leader = RunningProcess::start_logging(&mut command, full);
    drop(command);
    let worker = ProcessHandle::open(scenario.next_start().pid);
    // Longer than a lease lives that is not renewed.
    assert!(!worker.ends_within(scenario.timing().more_than_a_lease()));
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
    assert!(worker.is_dead());
    assert_eq!(scenario.journal().starts(), 1);
    drop(unread);
}

/// Fills a pipe that nobody reads, as when a terminal is held or a log collector hangs.
fn blocked_pipe() -> (PipeReader, PipeWriter) {
    let (unread, mut full) = pipe().unwrap();
    let room = rustix::pipe::fcntl_getpipe_size(&full).unwrap();
    full.write_all(&vec![b'x'; room]).unwrap();
    (unread, full)
}
