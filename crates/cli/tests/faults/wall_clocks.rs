//! Wall clocks that jump. Nothing may depend on them, on whichever machine.

use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::candidate::CandidateProcess;
use tenure_testkit::process::{ProcessHandle, signal_all};
use tenure_testkit::scenario::{ELECTION, Scenario};
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;
use tenure_testkit::wall_clock::FakeWallClock;
use tenure_testkit::worker;

use crate::{scenario, until_told};

const HOUR_S: i64 = 3_600;
/// Nobody may lose a lease, or his turn, because the machine is busy: there is more time for each answer.
const UNHURRIED: TestTiming = TestTiming::from_millis(6_000, 1_000, 300);

/// The clock of one candidate jumps while it leads, and back while it stands by. The other one's is right.
pub(crate) fn case_07_the_wall_clock_of_a_candidate_has_no_say(store: &dyn Backend) {
    for jump_s in [HOUR_S, -HOUR_S] {
        let scenario = scenario(store).with_timing(UNHURRIED);
        // Its own: that of the store stays true.
        let clock = FakeWallClock::at(scenario.path("clock-of-a"));
        let mut jumpy = under(&clock, &scenario, "a");
        let first = scenario.next_start();
        let elected = jumpy.event("elected");
        let mut steady = scenario.candidate("b");
        steady.stands_by();
        clock.jump_to(jump_s);
        // Longer than a lease lives that is not renewed.
        assert!(!ProcessHandle::open(first.pid).ends_within(scenario.timing().more_than_a_lease()));
        assert_eq!(scenario.finish(["resign", ELECTION]).code, Some(0));
        assert_jump(&elected, &jumpy.event("lost"), jump_s);

        let second = scenario.next_start();
        assert_eq!(second.candidate, "b");
        jumpy.stands_by();
        clock.jump_to(0);
        assert!(!ProcessHandle::open(second.pid).ends_within(scenario.timing().more_than_a_lease()));
        let asked_ns = boot_ns();
        steady.signal(Signal::TERM);
        let third = jumpy.event("elected");
        assert_jump(&elected, &third, 0);
        within_ns("hand-over", asked_ns, third["boot_ns"].as_u64().unwrap(), scenario.timing().max_failover(2));
        assert_eq!(scenario.next_start().candidate, "a");
        assert_eq!((scenario.journal().starts(), steady.code()), (3, 143));
        scenario.judge();
        jumpy.signal(Signal::TERM);
        assert_eq!(jumpy.code(), 143);
    }
}

/// The clock of the machine that the store runs on jumps. Where the store has no process of its own, that is the machine
/// of the candidates.
pub(crate) fn case_08_the_wall_clock_of_the_store_has_no_say(store: &dyn Backend) {
    let abilities = store.abilities();
    // What one that is set forward does to sessions is another case.
    let jumps = if abilities.trusts_wall_clock || abilities.by_session { &[-HOUR_S][..] } else { &[HOUR_S, -HOUR_S] };
    for &jump_s in jumps {
        let scenario = scenario(store).with_timing(UNHURRIED);
        let start = |id| {
            if store.abilities().embedded {
                under(scenario.store.wall_clock(), &scenario, id)
            } else {
                scenario.candidate(id)
            }
        };
        let leader = start("a");
        let first = scenario.next_start();
        let elected = leader.event("elected");
        let mut next = start("b");
        next.stands_by();
        scenario.store.wall_clock().jump_to(jump_s);
        let worker = ProcessHandle::open(first.pid);
        assert!(!worker.ends_within(scenario.timing().more_than_a_lease()));
        assert_eq!((&scenario.status()["leader"], &scenario.status()["term"]), (&"a".into(), &elected["term"]));
        let killed_ns = boot_ns();
        leader.signal(Signal::KILL);
        let taken = next.event("elected");
        within_ns("takeover", killed_ns, taken["boot_ns"].as_u64().unwrap(), scenario.timing().max_failover(2));
        if store.abilities().embedded {
            assert_jump(&elected, &taken, jump_s);
        }
        assert_eq!(scenario.next_start().candidate, "b");
        scenario.judge_crash(&[&worker]);
        next.signal(Signal::TERM);
        assert_eq!(next.code(), 143);
    }
}

/// The lease of a dead leader must not last for as long as the clock was set back.
pub(crate) fn case_08_a_wall_clock_that_is_set_back_behind_a_dead_leader_costs_one_more_lease(store: &dyn Backend) {
    let scenario = scenario(store);
    let leader = scenario.candidate("a");
    let first = scenario.next_start();
    let worker = ProcessHandle::open(first.pid);
    let next = scenario.candidate("b");
    next.stands_by();
    let killed_ns = boot_ns();
    // With its guard, which would release the lease.
    leader.note_kill();
    signal_all([&leader.running.process, &worker.parent()], Signal::KILL);
    scenario.store.wall_clock().jump_to(-HOUR_S);
    let second = scenario.next_start();
    assert_eq!(second.candidate, "b");
    assert!(second.term > first.term, "{second:?} after {first:?}");
    within_ns("takeover", killed_ns, second.boot_ns, scenario.timing().max_failover(2) * 2);
    scenario.judge_crash(&[&worker]);
}

/// Where leases run out by the store's wall clock, one that is set forward ends them all, and the leader learns it by its
/// next renewal. Whoever stood by before has seen the jump, and waits until the old leader has surely stopped.
pub(crate) fn case_08_a_wall_clock_that_is_set_forward_ends_a_leadership_early_or_not_at_all(store: &dyn Backend) {
    let scenario = scenario(store);
    let leader = if store.abilities().embedded {
        under(scenario.store.wall_clock(), &scenario, "a")
    } else {
        scenario.candidate("a")
    };
    let first = scenario.next_start();
    let worker = ProcessHandle::open(first.pid);
    let next = scenario.candidate("b");
    next.stands_by();
    scenario.store.wall_clock().jump_to(60);
    let jumped_ns = boot_ns();
    if !store.abilities().trusts_wall_clock {
        let has_ended = worker.ends_within(scenario.timing().more_than_a_lease());
        if has_ended && store.abilities().by_session {
            // The server may take the session for one that was silent for an hour, and ends it.
            assert_eq!(leader.event("lost")["reason"], "revoked");
            assert!(scenario.next_start().term > first.term);
            return scenario.judge_crash(&[&worker]);
        }
        assert!(!has_ended);
        assert_eq!(scenario.status()["leader"], "a");
        scenario.judge();
        return;
    }
    let lost = leader.event("lost");
    assert!(["revoked", "superseded"].map(Value::from).contains(&lost["reason"]), "{lost}");
    worker.await_end("the work of the leader whose lease ran out early");
    within_ns("life after the jump", jumped_ns, scenario.journal().last_seen_ns(first.pid), until_told(&scenario));
    let second = scenario.next_start();
    assert!(second.term > first.term, "{second:?} after {first:?}");
    // The clock is wrong for good now, and all is well: what counts is that it goes on.
    assert!(!ProcessHandle::open(second.pid).ends_within(scenario.timing().more_than_a_lease()));
    assert_eq!(scenario.journal().starts(), 2);
    scenario.judge();
}

fn under(clock: &FakeWallClock, scenario: &Scenario, id: &str) -> CandidateProcess {
    let mut command = scenario.candidate_command(id, &[], &worker::command());
    clock.govern(&mut command);
    scenario.start(&mut command)
}

/// Checks that the fault was there at all: between the two events the wall clock went on by this much more than time did.
fn assert_jump(before: &Value, after: &Value, jump_s: i64) {
    let offset_s = |event: &Value| {
        let at: Timestamp = event["at"].as_str().unwrap().parse().unwrap();
        at.as_second() - i64::try_from(event["boot_ns"].as_u64().unwrap() / 1_000_000_000).unwrap()
    };
    let jumped_s = offset_s(after) - offset_s(before);
    assert!((jumped_s - jump_s).abs() <= 2, "the clock was to jump by {jump_s} s, and did by {jumped_s} s");
}
