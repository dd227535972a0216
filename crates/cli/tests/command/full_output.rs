//! A reader that does not go away and does not read.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};

use rustix::fs::OFlags;
use rustix::process::Signal;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::support::scenario;

/// A pipe into which nothing more can be written.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().unwrap();
    let flags = rustix::fs::fcntl_getfl(&writer).unwrap();
    rustix::fs::fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'x'; 1024]).is_ok() {}
    rustix::fs::fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

fn elect(scenario: &Scenario, id: &str, options: &[&str], output: PipeWriter) -> RunningProcess {
    let mut elect = scenario.tenure(["elect", ELECTION, "--id", id]);
    RunningProcess::start_printing(elect.args(scenario.timing().options()).args(options).stdout(output))
}

/// Waits until SIGTERM no longer ends the process by itself.
fn await_signal_handler(running: &mut RunningProcess) {
    let status = format!("/proc/{}/status", running.child().id());
    let handles_it = || {
        let status = std::fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << (Signal::TERM.as_raw() - 1) != 0
    };
    while !handles_it() {
        std::thread::yield_now();
    }
}

#[test]
fn a_leader_whose_output_is_not_read_leaves_when_it_is_asked_to() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let scenario = scenario();
        let (reader, writer) = full_pipe();
        let mut leader = elect(&scenario, "stuck", &[], writer);
        while scenario.status()["leader"] != "stuck" {}
        let stand_by = scenario.elect("b");
        let observed = stand_by.event("observed");
        assert_eq!(observed["leader"], "stuck", "{observed}");
        leader.signal(signal);
        assert_eq!(leader.code(), code);
        let elected = stand_by.event("elected");
        assert!(elected["term"].as_u64() > observed["term"].as_u64(), "{elected} after {observed}");
        drop(reader);
    }
}

#[test]
fn nobody_who_prints_without_a_reader_has_to_be_killed() {
    let scenario = scenario();
    let leader = scenario.elect("a");
    leader.event("elected");
    let commands: [&[&str]; 4] =
        [&["watch", ELECTION], &["watch", ELECTION, "--json"], &["status", "--watch"], &["elect", ELECTION]];
    for args in commands {
        let (reader, writer) = full_pipe();
        let mut stuck = RunningProcess::start_printing(scenario.tenure(args).stdout(writer));
        await_signal_handler(&mut stuck);
        stuck.signal(Signal::TERM);
        assert_eq!(stuck.code(), 143, "{args:?}");
        drop(reader);
    }
}

#[test]
fn a_message_that_nobody_has_read_stays() {
    let scenario = scenario();
    let (mut reader, writer) = pipe().unwrap();
    let mut leader = elect(&scenario, "a", &["--channel", "mail"], writer);
    let mut first = [0];
    reader.read_exact(&mut first).unwrap();
    // It is more than a pipe takes.
    let payload = format!("\"{}\"", "x".repeat(60_000));
    std::fs::write(scenario.path("payload"), payload).unwrap();
    for _ in 0..3 {
        let payload = std::fs::File::open(scenario.path("payload")).unwrap();
        let mut send = scenario.tenure(["send", ELECTION, "mail", "-"]);
        assert_eq!(RunningProcess::start(send.stdin(payload)).finish().code, Some(0));
    }
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
    let waiting = scenario.json(&["messages", ELECTION, "--json"]);
    assert!(waiting.as_array().unwrap().len() >= 2, "{waiting}");
}
