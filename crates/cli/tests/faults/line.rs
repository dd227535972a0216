//! Those who stand by go, or stand still, before they are needed.

use std::time::Duration;

use rustix::process::Signal;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::candidate::CandidateProcess;
use tenure_testkit::eventually;
use tenure_testkit::scenario::Scenario;
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;

use crate::scenario;

/// Two reservations, and what a busy machine adds. Far less than a lease that nobody can wait out.
const PROMPTLY: Duration = Duration::from_secs(6);

pub(crate) fn case_03_when_the_next_in_line_have_left_a_killed_leader_is_missed_all_the_same(store: &dyn Backend) {
    let (scenario, limit) = scenario_for_deaths(store);
    let mut line = line_of(&scenario, 5);
    for left in &mut line[1..3] {
        left.signal(Signal::TERM);
        assert_eq!(left.code(), 143);
    }
    let killed_ns = boot_ns();
    line[0].signal(Signal::KILL);
    next_leader(&scenario, killed_ns, limit);
}

pub(crate) fn case_03_when_the_next_in_line_are_dead_a_killed_leader_is_missed_all_the_same(store: &dyn Backend) {
    let (scenario, limit) = scenario_for_deaths(store);
    let line = line_of(&scenario, 5);
    line[1..4].iter().for_each(|dead| dead.signal(Signal::KILL));
    let killed_ns = boot_ns();
    line[0].signal(Signal::KILL);
    assert_eq!(next_leader(&scenario, killed_ns, limit), "4");
}

pub(crate) fn case_03_leaders_killed_one_after_the_other_are_followed_in_order_of_arrival(store: &dyn Backend) {
    let (scenario, limit) = scenario_for_deaths(store);
    let line = line_of(&scenario, 6);
    // Where a death is only missed when the lease has run out, or nobody knows who stands by, whoever looks first leads.
    let keeps_order = store.abilities().sees_death && !store.abilities().by_session;
    let mut leader = 0;
    for round in 1..4 {
        let killed_ns = boot_ns();
        line[leader].signal(Signal::KILL);
        leader = next_leader(&scenario, killed_ns, limit).parse().unwrap();
        assert!(leader == round || !keeps_order, "{leader} leads instead of {round}");
    }
}

pub(crate) fn case_16_when_the_next_in_line_are_stopped_a_resignation_costs_no_lease(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(TestTiming::PATIENT);
    let mut line = line_of(&scenario, 5);
    line[1..3].iter().for_each(|stopped| stopped.signal(Signal::STOP));
    let asked_ns = boot_ns();
    line[0].signal(Signal::TERM);
    next_leader(&scenario, asked_ns, PROMPTLY);
    assert_eq!(line[0].code(), 143);
    line[1..3].iter().for_each(|stopped| stopped.signal(Signal::CONT));
}

/// Where a death is seen nobody waits for a lease, not even for one that no test could wait out.
fn scenario_for_deaths(store: &dyn Backend) -> (Scenario, Duration) {
    if store.abilities().sees_death {
        (scenario(store).with_timing(TestTiming::PATIENT), PROMPTLY)
    } else {
        (scenario(store).with_timing(TestTiming::SHORT), TestTiming::SHORT.max_failover(6) + PROMPTLY)
    }
}

/// Candidates "0", who leads, and others who stand by in the order of their numbers.
fn line_of(scenario: &Scenario, count: usize) -> Vec<CandidateProcess> {
    let mut line = Vec::new();
    for number in 0..count {
        let candidate = scenario.elect(&number.to_string());
        let first = if number == 0 { "elected" } else { "observed" };
        drop(candidate.event(first));
        line.push(candidate);
    }
    line
}

/// Waits for whoever is elected after this, and judges how long it took.
fn next_leader(scenario: &Scenario, since_ns: u64, limit: Duration) -> String {
    let mut next = None;
    eventually("the next leader", || {
        let elected = scenario.events().into_iter().filter(|event| event["event"] == "elected");
        next = elected
            .filter_map(|event| Some((event["boot_ns"].as_u64()?, event["candidate"].as_str()?.to_owned())))
            .filter(|(elected_ns, _)| *elected_ns > since_ns)
            .min();
        next.is_some()
    });
    let (elected_ns, candidate) = next.unwrap();
    within_ns("the next leader", since_ns, elected_ns, limit);
    scenario.judge();
    candidate
}
