//! Many candidates, and how long changes of leadership take.

use std::time::Duration;

use rustix::process::Signal;
use tenure_testkit::bound::boot_ns;
use tenure_testkit::candidate::CandidateProcess;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::scenario::Scenario;
use tenure_testkit::test_timing::TestTiming;
use tenure_testkit::worker::WorkerStart;

use crate::support::scenario;

const CROWD: usize = 30;

struct Crowd {
    scenario: Scenario,
    candidates: Vec<(String, CandidateProcess)>,
}

impl Crowd {
    fn of(count: usize, scenario: Scenario) -> Self {
        let candidate = |number| {
            let id = format!("c{number}");
            let candidate = scenario.candidate(&id);
            (id, candidate)
        };
        let candidates = (0..count).map(candidate).collect();
        Self { scenario, candidates }
    }

    /// Takes the candidate of this worker out of the crowd.
    fn take(&mut self, leader: &WorkerStart) -> CandidateProcess {
        let position = self.candidates.iter().position(|(id, _)| *id == leader.candidate).unwrap();
        self.candidates.swap_remove(position).1
    }

    fn add(&mut self, id: String) {
        let candidate = self.scenario.candidate(&id);
        candidate.stands_by();
        self.candidates.push((id, candidate));
    }

    /// That no one was told to stop: they made the file together.
    fn assert_one_file(&self) {
        for (id, candidate) in &self.candidates {
            let told = candidate.told();
            assert!(!told.iter().any(|line| line.contains("must stop")), "{id}: {told:#?}");
        }
    }

    fn assert_all_stand(&self) {
        for (id, candidate) in &self.candidates {
            assert!(!candidate.running.process.is_dead(), "{id} has died");
        }
    }
}

#[test]
fn of_thirty_started_at_once_one_leads_at_a_time_and_none_dies() {
    let mut crowd = Crowd::of(CROWD, scenario());
    let mut leader = crowd.scenario.next_start();
    for (id, candidate) in &crowd.candidates {
        candidate.event(if *id == leader.candidate { "elected" } else { "observed" });
    }
    crowd.assert_one_file();
    for signal in [Signal::TERM, Signal::KILL, Signal::TERM] {
        let mut old = crowd.take(&leader);
        old.signal(signal);
        let next = crowd.scenario.next_start();
        assert!(ProcessHandle::open(leader.pid).is_dead());
        assert_eq!(old.running.exit().code(), (signal == Signal::TERM).then_some(143));
        leader = next;
    }
    crowd.assert_all_stand();
    assert_eq!(crowd.scenario.journal().starts(), 4);
    crowd.scenario.judge();
}

/// How many changes to go through: `TENURE_TEST_ROUNDS` for figures, a few to see that it works.
fn rounds() -> usize {
    std::env::var("TENURE_TEST_ROUNDS").map_or(3, |rounds| rounds.parse().unwrap())
}

/// Lets leaders end by this signal, one after the other, and prints how long the next worker took to start: in any case
/// not as long as a lease, which nobody would wait for here.
fn changes_after(signal: Signal, name: &str) {
    let mut crowd = Crowd::of(3, scenario().with_timing(TestTiming::PATIENT));
    let mut leader = crowd.scenario.next_start();
    for (id, candidate) in &crowd.candidates {
        candidate.event(if *id == leader.candidate { "elected" } else { "observed" });
    }
    let mut took = Vec::new();
    for round in 0..rounds() {
        let mut old = crowd.take(&leader);
        let asked_ns = boot_ns();
        old.signal(signal);
        leader = crowd.scenario.next_start();
        took.push(Duration::from_nanos(leader.boot_ns - asked_ns));
        old.running.exit();
        crowd.add(format!("late{round}"));
    }
    took.sort();
    let gap = crowd.scenario.judge();
    let (median, worst) = (took[took.len() / 2], took[took.len() - 1]);
    println!("{name}: {} rounds, median {median:.1?}, worst {worst:.1?}, smallest gap {gap:.1?}", took.len());
}

#[test]
fn a_hand_over_does_not_wait_for_the_lease_to_run_out() {
    changes_after(Signal::TERM, "hand-over after SIGTERM");
}

#[test]
fn a_takeover_from_a_killed_leader_does_not_wait_for_the_lease_to_run_out() {
    changes_after(Signal::KILL, "takeover after kill -9");
}
