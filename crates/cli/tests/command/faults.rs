//! What befalls `tenure run`: it is stopped, its command daemonises or is not read. The next command starts only when
//! nothing of the one before is left.

use std::io::{Write, pipe};

use rustix::process::Signal;

use crate::support::{Candidate, ELECTION, Process, Running, Site, sh};

#[test]
fn case_01_and_04_the_command_of_a_stopped_supervisor_is_dead_before_the_next_one_starts() {
    let site = Site::new();
    let mut stopped = site.candidate("a");
    let first = site.next_start();
    let elected = stopped.event("elected");
    let next = site.candidate("b");
    next.event("observed");
    let worker = Process::open(first.pid);
    stopped.signal(Signal::STOP);
    let second = site.next_start();
    assert_eq!(second.candidate, "b");
    assert!(worker.is_dead());
    site.journal().assert_disjoint();

    stopped.signal(Signal::CONT);
    let lost = stopped.event("lost");
    assert_eq!(lost["term"], elected["term"]);
    assert_eq!(lost["reason"], "expired", "{lost}");
    assert_eq!(stopped.event("observed")["leader"], "b");
    next.signal(Signal::TERM);
    assert_eq!(site.next_start().candidate, "a", "the one that was stopped does not stand by again");
    site.journal().assert_disjoint();
    stopped.signal(Signal::TERM);
    assert_eq!(stopped.code(), 143);
}

#[test]
fn case_02_a_supervisor_that_is_stopped_for_a_moment_goes_on_leading() {
    let site = Site::new();
    let leader = site.candidate("a");
    let worker = Process::open(site.next_start().pid);
    let stand_by = site.candidate("b");
    stand_by.event("observed");
    leader.signal(Signal::STOP);
    // Waits because only time tells a stop of half a lease from none at all; the trust lasts for two seconds.
    assert!(!worker.ends_within(std::time::Duration::from_millis(800)));
    leader.signal(Signal::CONT);
    // Longer than the lease that ran when it was stopped.
    assert!(!worker.ends_within(std::time::Duration::from_millis(3_200)));
    assert_eq!(site.journal().starts(), 1);
}

#[test]
fn case_24_a_command_that_daemonised_is_dead_before_the_next_one_starts() {
    for signal in [Signal::KILL, Signal::TERM] {
        let site = Site::new();
        // The worker leaves its parent, its group and its session, as daemons do.
        let daemonise = "(setsid \"$@\" < /dev/null & ); echo main $$; exec sleep 600";
        let leader = site.candidate_with("a", &[], &["sh", "-c", daemonise, "sh"]);
        let main = site.words.find("the shell", |line| line.strip_prefix("main ")?.parse().ok());
        let daemon = site.next_start();
        let _next = site.candidate("b");
        leader.signal(signal);
        assert_eq!(site.next_start().candidate, "b");
        assert!(Process::open(main).is_dead() && Process::open(daemon.pid).is_dead());
        site.journal().assert_disjoint();
    }
}

#[test]
fn case_30_a_command_that_nobody_reads_does_not_stop_the_renewals() {
    let site = Site::new();
    let (unread, full) = pipe().unwrap();
    let mut command = site.tenure(["run", ELECTION, "--json", "--id", "a"]);
    command.args(crate::support::TIMING).arg("--").args(sh("echo $$ >&2; while :; do echo yes; done"));
    let leader = Candidate::start(command.stdout(full));
    drop(command);
    let elected = leader.event("elected");
    let status = || site.json(&["status", ELECTION, "--json"])[0].clone();
    let stand_by = site.candidate("b");
    stand_by.event("observed");
    // Waits because a lease that is not renewed takes this long to run out.
    assert!(!leader.running.process.ends_within(std::time::Duration::from_millis(3_500)));
    assert_eq!((&status()["leader"], &status()["term"]), (&"a".into(), &elected["term"]));
    drop(unread);
}

#[test]
fn a_supervisor_that_is_stopped_again_and_again_always_leads_again() {
    let site = Site::with_timing(&["--ttl", "500ms"]);
    let mut candidate = site.candidate("a");
    let mut worker = Process::open(site.next_start().pid);
    for _ in 0..8 {
        candidate.signal(Signal::STOP);
        worker.await_end("the command of a stopped supervisor");
        // Waits because the lease, which nobody else wants, runs out only after the trust in it.
        assert!(!candidate.running.process.ends_within(std::time::Duration::from_millis(200)));
        candidate.signal(Signal::CONT);
        worker = Process::open(site.next_start().pid);
    }
    site.journal().assert_disjoint();
    candidate.signal(Signal::TERM);
    assert_eq!(candidate.code(), 143);
}

/// Fills a pipe that nobody reads, as when a terminal is held or a log collector hangs.
fn blocked_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (unread, mut full) = pipe().unwrap();
    let room = rustix::pipe::fcntl_getpipe_size(&full).unwrap();
    full.write_all(&vec![b'x'; room]).unwrap();
    (unread, full)
}

#[test]
fn case_30_a_standard_error_that_nobody_reads_stops_neither_the_command_nor_the_end() {
    let site = Site::new();
    let (unread, full) = blocked_pipe();
    let mut command = site.candidate_command("a", &["--log", "trace"], &crate::worker::command());
    let mut leader = Running::start_logging(&mut command, full);
    drop(command);
    let worker = Process::open(site.next_start().pid);
    // Waits because a lease that is not renewed takes this long to run out.
    assert!(!worker.ends_within(std::time::Duration::from_millis(3_500)));
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
    assert!(worker.is_dead());
    assert_eq!(site.journal().starts(), 1);
    drop(unread);
}
