//! A candidate whose work has ended does not lead with nobody working.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tenure::blocking::Candidacy;
use tenure::testing::Operation;
use tenure::{CandidacyState, Error};

use crate::job_support::{MINUTE, Notes, kept_runs, minutely, pair, pass_idly};
use crate::support::{Lab, PATIENCE, block_on, id};

const LONG: Duration = Duration::from_secs(120);

/// Who stands by, as the store knows it.
fn line(lab: &Lab) -> usize {
    lab.client.election("x").unwrap().observe().unwrap().standing_by.len()
}

fn polled<F: Future>(future: Pin<&mut F>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// Nobody leads by it from here on, however long one waits.
fn rests(lab: &Lab, candidacy: &Candidacy) {
    lab.settle();
    let campaigns = lab.store.calls(Operation::Campaign);
    lab.pass(LONG);
    assert!(!candidacy.is_leader());
    assert_eq!((candidacy.state(), lab.store.calls(Operation::Campaign)), (CandidacyState::Paused, campaigns));
}

#[test]
fn when_its_work_has_returned_another_candidate_leads_and_keeps_the_lease() {
    let lab = Lab::new();
    let first = lab.leader("a");
    let rival = lab.rival();
    let second = rival.candidate("b").start().unwrap();
    rival.settle();
    block_on(first.as_ref().run_while_leader(async |_| ())).unwrap();
    lab.hands.block_on(second.as_ref().elected()).unwrap();
    rests(&lab, &first);
    rival.settle();
    assert!(second.is_leader());
    assert_eq!(line(&lab), 0, "it is not in the line either");
}

#[test]
fn alone_it_leaves_the_lease_free_until_it_is_asked_again() {
    let lab = Lab::new();
    let candidacy = lab.candidate("a").start().unwrap();
    for _ in 0..2 {
        block_on(candidacy.as_ref().run_while_leader(async |_| ())).unwrap();
        assert_eq!(lab.client.election("x").unwrap().history(1).unwrap()[0].reason, "resigned");
        rests(&lab, &candidacy);
        assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
    }
    block_on(candidacy.as_ref().consume(async || None::<()>, async |(), _| Ok::<(), Error>(()))).unwrap().unwrap();
    rests(&lab, &candidacy);
    // What is said of its health is no question.
    candidacy.set_health(true);
    candidacy.heartbeat();
    rests(&lab, &candidacy);

    candidacy.elected_timeout(PATIENCE).unwrap().expect("asked, it leads");
    lab.pass(LONG);
    assert!(candidacy.is_leader(), "a leadership that was waited for is kept");
    block_on(candidacy.as_ref().run_while_leader(async |_| ())).unwrap();
    rests(&lab, &candidacy);
    candidacy.stand();
    lab.pass(LONG);
    assert!(candidacy.is_leader());
}

#[test]
fn a_panic_in_its_work_lets_others_lead() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let panicking = || block_on(candidacy.as_ref().run_while_leader(async |_| -> () { panic!("on purpose") }));
    catch_unwind(AssertUnwindSafe(panicking)).unwrap_err();
    rests(&lab, &candidacy);
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
}

#[test]
fn dropped_before_it_has_led_it_leaves_the_line() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let rival = lab.rival();
    let waiting = rival.candidate("b").start().unwrap();
    rival.settle();
    let mut running = Box::pin(waiting.as_ref().run_while_leader(async |_| ()));
    assert!(!polled(running.as_mut()));
    assert_eq!(line(&lab), 1);
    drop(running);
    rival.settle();
    assert_eq!(line(&lab), 0);
    leader.stop();
    rests(&rival, &waiting);
}

#[test]
fn it_goes_on_standing_for_those_who_wait_to_lead_by_it() {
    let lab = Lab::new();
    let (leader, rival) = (lab.leader("a"), lab.rival());
    let candidacy = rival.candidate("b").start().unwrap();
    rival.settle();
    let mut running = Box::pin(candidacy.as_ref().run_while_leader(async |_| ()));
    let mut waiting = Box::pin(candidacy.as_ref().elected());
    assert!(!polled(running.as_mut()) && !polled(waiting.as_mut()));
    drop(running);
    rival.settle();
    assert_eq!((line(&lab), candidacy.state().to_string()), (1, "following a, the leader of term 1".to_owned()));
    // The last of them.
    drop(waiting);
    rival.settle();
    assert_eq!((line(&lab), candidacy.state()), (0, CandidacyState::Paused));
    assert_eq!(leader.candidate(), &id("a"));
    candidacy.stop();
    assert_eq!(candidacy.state(), CandidacyState::Stopped);
}

#[test]
fn its_jobs_go_to_the_next_leader_with_the_lease() {
    let (lab, first, rival, second) = pair(&minutely(), &Notes::default());
    pass_idly(&lab, MINUTE);
    block_on(first.as_ref().run_while_leader(async |_| ())).unwrap();
    lab.hands.block_on(second.as_ref().elected()).unwrap();
    pass_idly(&rival, MINUTE * 2);
    let ran_by: Vec<String> = kept_runs(&lab).into_iter().map(|run| run.candidate.to_string()).collect();
    assert_eq!((ran_by, first.state()), (["a", "b", "b"].map(str::to_owned).to_vec(), CandidacyState::Paused));
}
