//! Where a candidacy stands, as probes are told.

use std::time::Duration;

use tenure::CandidacyState;
use tenure::testing::{Fault, Operation};

use crate::support::{HeldUp, Lab, id, timing};

const TICK: Duration = Duration::from_nanos(1);

#[test]
fn probes_are_told_who_leads_without_a_request() {
    let lab = Lab::new();
    let (leader, rival) = (lab.leader("a"), lab.rival());
    let follower = rival.candidate("b").start().unwrap();
    rival.settle();
    let requests = rival.store.calls(Operation::Observe);
    let CandidacyState::Following { leader: Some(seen) } = follower.state() else { panic!("{}", follower.state()) };
    let term = leader.leadership().unwrap().term();
    assert_eq!((seen.candidate, seen.term), (id("a"), term));
    assert_eq!(rival.store.calls(Operation::Observe), requests);
    assert_eq!(follower.state().to_string(), "following a, the leader of term 1");
    assert_eq!(leader.state(), CandidacyState::Leading { term });
    assert_eq!(leader.state().to_string(), "leading under term 1");

    // Work that has not ended keeps the lease.
    let work = leader.leadership().unwrap().begin_work().unwrap();
    leader.request_resign();
    lab.settle();
    assert_eq!(leader.state(), CandidacyState::Draining { term });
    drop(work);
    lab.settle();
    assert_eq!(leader.state(), CandidacyState::Following { leader: None });
    leader.stop();
    assert_eq!(leader.state(), CandidacyState::Stopped);
}

#[test]
fn probes_are_told_that_an_unhealthy_candidate_does_not_campaign() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let leadership = candidacy.leadership().unwrap();
    let work = leadership.begin_work().unwrap();
    candidacy.set_health(false);
    lab.settle();
    assert_eq!(candidacy.state(), CandidacyState::Draining { term: leadership.term() }, "its work comes first");
    drop(work);
    lab.pass(Duration::from_secs(1));
    assert_eq!(candidacy.state(), CandidacyState::Unhealthy);
    assert!(candidacy.state().to_string().starts_with("unhealthy: "), "{}", candidacy.state());
    candidacy.set_health(true);
    lab.settle();
    assert_ne!(candidacy.state(), CandidacyState::Unhealthy);
    candidacy.set_health(false);
    lab.settle();
    candidacy.stop();
    assert_eq!(candidacy.state(), CandidacyState::Stopped);
}

#[test]
fn a_paused_candidate_is_unhealthy_only_if_the_application_is() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    candidacy.run_while_leader(|_| ()).unwrap();
    lab.settle();
    assert_eq!(candidacy.state(), CandidacyState::Paused);
    candidacy.set_health(false);
    lab.settle();
    assert_eq!(candidacy.state(), CandidacyState::Paused);
    candidacy.stand();
    lab.settle();
    assert_eq!(candidacy.state(), CandidacyState::Unhealthy);
}

#[test]
fn whether_it_leads_is_decided_by_the_clock_although_nothing_of_the_driver_runs() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let leadership = candidacy.leadership().unwrap();
    let _held_up = HeldUp::new(&lab.client);
    lab.hands.advance(leadership.remaining() - timing().reaction() - timing().grace() - TICK);
    assert_eq!(candidacy.state(), CandidacyState::Leading { term: leadership.term() });
    lab.hands.advance(TICK);
    assert!(!candidacy.is_leader());
    assert_eq!(candidacy.state(), CandidacyState::Draining { term: leadership.term() });
}

#[test]
fn an_outage_of_the_store_lasts_from_its_first_error_to_its_next_answer() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    assert!(candidacy.store_outage().is_none());
    lab.store.inject_everywhere(&Fault::LoseRequest);
    lab.pass(timing().renew_every() * 2);
    let outage = candidacy.store_outage().expect("renewals have failed");
    assert!(candidacy.is_leader(), "it has time left");
    assert!(outage.lasting <= timing().renew_every() * 2, "{outage}");
    assert!(outage.to_string().contains(&outage.last_error.to_string()), "{outage}");
    lab.pass(Duration::from_secs(1));
    assert!(candidacy.store_outage().unwrap().lasting >= outage.lasting + Duration::from_secs(1));
    lab.store.heal();
    lab.pass(timing().renew_every());
    assert!(candidacy.store_outage().is_none() && candidacy.is_leader());
}
