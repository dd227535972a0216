//! Waiting under a clock that stands still: the clock is driven together with the future, or the test fails with a word.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tenure::testing::{Fault, Operation, VirtualClock};
use tenure::{CandidacyState, Clock};

use crate::support::{Lab, timing};

const HOUR: Duration = Duration::from_secs(3_600);

fn panic_of(run: impl FnOnce()) -> String {
    *catch_unwind(AssertUnwindSafe(run)).unwrap_err().downcast::<String>().unwrap()
}

#[test]
fn a_candidate_that_is_cut_off_can_be_waited_for_until_it_has_left() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    lab.store.inject_everywhere(&Fault::BlackHole);
    let before = lab.hands.now();
    lab.hands.block_on(leader.as_ref().stop());
    assert_eq!(leader.state(), CandidacyState::Stopped);
    let took = lab.hands.now().saturating_since(before);
    assert!(took > Duration::ZERO && took <= timing().grace() + timing().reaction() + timing().attempt_timeout() * 3);
}

#[test]
fn all_that_is_due_on_the_way_is_done_on_time() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let rival = lab.rival();
    let follower = rival.candidate("b").start().unwrap();
    let term = leader.leadership().unwrap().term();
    let clock = Clock::controlled_by(&lab.hands);
    let later = lab.hands.now() + HOUR;
    lab.hands.block_on(clock.sleep_until(later));
    assert_eq!((lab.hands.now(), leader.state()), (later, CandidacyState::Leading { term }));
    assert!(lab.store.calls(Operation::Renew) > 100);

    lab.store.inject_everywhere(&Fault::BlackHole);
    let next = lab.hands.block_on(follower.as_ref().elected()).unwrap();
    assert!(next.term() > term && !leader.is_leader());
}

#[test]
fn other_tasks_of_the_same_thread_go_on() {
    let lab = Lab::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let candidacy = lab.candidate("a").start().unwrap();
        let working = tokio::spawn(async move {
            candidacy.as_ref().run_while_leader(async |leadership| leadership.term().get()).await.unwrap()
        });
        assert_eq!(lab.hands.drive(working).await.unwrap(), 1);
    });
}

#[test]
fn a_future_that_nothing_can_wake_fails_with_its_name() {
    let told = panic_of(|| VirtualClock::new().block_on(pending::<()>()));
    assert!(told.contains("Pending") && told.contains("nothing waits for the clock"), "{told}");
}

#[test]
fn a_future_that_does_not_wait_for_time_fails_although_time_goes_on() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let leadership = leader.leadership().unwrap();
    let told = panic_of(|| lab.hands.block_on(leadership.cancelled()));
    assert!(told.contains("cancelled") && told.contains("it does not wait for time"), "{told}");
    assert!(leader.is_leader());
}
