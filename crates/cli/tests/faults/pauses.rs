//! Processes that are stopped, and wake up in another time.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::process::{ProcessHandle, Victim, signal_all};
use tenure_testkit::register::{self, REGISTERS, Registers};
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;

use crate::scenario;

/// All of the leader is stopped: `tenure`, its guard, and its command between the decision to write and the writing.
pub(crate) fn case_01_a_stopped_leader_wakes_up_leading_nothing_and_only_a_fence_stops_its_last_write(
    store: &dyn Backend,
) {
    let scenario = scenario(store);
    let registers = Registers::new(scenario.path("registers"));
    let start = |id| {
        let mut command = scenario.candidate_command(id, &[], &register::writer());
        scenario.start(command.env(REGISTERS, scenario.path("registers")))
    };
    let ready = |line: &str| line.strip_prefix("ready a ")?.parse().ok();
    let stopped = start("a");
    let writer = Victim(ProcessHandle::open(scenario.words.find("the writer", ready)));
    let guard = Victim(writer.0.parent());
    let old_term = stopped.event("elected")["term"].clone();
    let next = start("b");
    next.stands_by();
    let stopped_ns = boot_ns();
    signal_all([&stopped.running.process, &guard.0, &writer.0], Signal::STOP);

    let elected = next.event("elected");
    within_ns("takeover from a stopped leader", stopped_ns, ns(&elected), scenario.timing().max_failover(2));
    registers.let_write("b");
    scenario.words.find("what b wrote", |line| (line == "wrote b true").then_some(()));
    let three_leases = scenario.timing().validated().ttl() * 3;
    assert!(!next.running.process.ends_within(three_leases.saturating_sub(since(stopped_ns))));

    registers.let_write("a");
    writer.0.signal(Signal::CONT);
    scenario.words.find("what a wrote", |line| (line == "wrote a false").then_some(()));
    let terms = [&elected["term"], &old_term].map(|term| term.as_u64().unwrap());
    assert_eq!(registers.unfenced(), terms, "without a fence the last word is that of the old leader");
    assert_eq!(registers.fenced(), terms[..1]);

    let resumed_ns = boot_ns();
    signal_all([&guard.0, &stopped.running.process], Signal::CONT);
    let lost = stopped.event("lost");
    assert_eq!((&lost["term"], &lost["reason"]), (&old_term, &"expired".into()), "{lost}");
    assert!(ns(&lost) >= resumed_ns, "told by somebody who could not know");
    assert_eq!(stopped.event("observed")["leader"], "b");
    writer.0.await_end("the command of the leader that was stopped");
    assert_eq!((&scenario.status()["leader"], &scenario.status()["term"]), (&"b".into(), &elected["term"]));
}

pub(crate) fn case_02_a_leader_that_is_stopped_for_half_a_lease_goes_on_leading(store: &dyn Backend) {
    // So long a lease that a busy machine, too, resumes it in time.
    let scenario = scenario(store).with_timing(TestTiming::from_millis(8_000, 500, 300));
    let leader = scenario.candidate("a");
    let worker = ProcessHandle::open(scenario.next_start().pid);
    let stand_by = scenario.candidate("b");
    stand_by.stands_by();
    let half = scenario.timing().validated().ttl() / 2;
    leader.signal(Signal::STOP);
    // Waits because only time tells a stop of half a lease from none at all.
    assert!(!worker.ends_within(half));
    leader.signal(Signal::CONT);
    // Longer than the rest of the lease that ran when it was stopped.
    assert!(!worker.ends_within(scenario.timing().more_than_a_lease() - half));
    assert_eq!(scenario.journal().starts(), 1);
    assert!(scenario.events().iter().all(|event| event["event"] != "lost"), "{:#?}", scenario.events());
}

pub(crate) fn case_04_the_command_of_a_stopped_supervisor_is_dead_before_the_next_one_starts(store: &dyn Backend) {
    let scenario = scenario(store);
    let mut stopped = scenario.candidate("a");
    let first = scenario.next_start();
    let elected = stopped.event("elected");
    let next = scenario.candidate("b");
    next.stands_by();
    let worker = ProcessHandle::open(first.pid);
    let stopped_ns = boot_ns();
    stopped.signal(Signal::STOP);
    let second = scenario.next_start();
    assert_eq!(second.candidate, "b");
    assert!(worker.is_dead());
    let last_seen_ns = scenario.journal().last_seen_ns(first.pid);
    within_ns("life after its supervisor", stopped_ns, last_seen_ns, scenario.timing().validated().hold());
    scenario.journal().assert_disjoint();

    stopped.signal(Signal::CONT);
    let lost = stopped.event("lost");
    assert_eq!(lost["term"], elected["term"]);
    assert_eq!(lost["reason"], "expired", "{lost}");
    assert_eq!(stopped.event("observed")["leader"], "b");
    next.signal(Signal::TERM);
    assert_eq!(scenario.next_start().candidate, "a", "the one that was stopped does not stand by again");
    scenario.judge();
    stopped.signal(Signal::TERM);
    assert_eq!(stopped.code(), 143);
}

pub(crate) fn case_04_a_supervisor_that_is_stopped_again_and_again_always_leads_again(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(TestTiming::from_millis(500, 83, 50));
    let mut candidate = scenario.candidate("a");
    let mut worker = ProcessHandle::open(scenario.next_start().pid);
    for _ in 0..8 {
        candidate.signal(Signal::STOP);
        worker.await_end("the command of a stopped supervisor");
        // Waits because the lease, which nobody else wants, runs out only after the trust in it.
        assert!(!candidate.running.process.ends_within(Duration::from_millis(200)));
        candidate.signal(Signal::CONT);
        worker = ProcessHandle::open(scenario.next_start().pid);
    }
    scenario.judge();
    candidate.signal(Signal::TERM);
    assert_eq!(candidate.code(), 143);
}

fn ns(event: &Value) -> u64 {
    event["boot_ns"].as_u64().unwrap()
}

fn since(start_ns: u64) -> Duration {
    Duration::from_nanos(boot_ns() - start_ns)
}
