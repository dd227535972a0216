//! A leader and one who stands by, on a server that something is about to happen to.

use std::rc::Rc;

use rustix::process::Signal;
use tenure_testkit::candidate::CandidateProcess;
use tenure_testkit::scenario::Scenario;
use tenure_testkit::stores::StoreServer;
use tenure_testkit::test_timing::TestTiming;
use tenure_testkit::worker::WorkerStart;

use crate::{PATIENT_ENOUGH, goes_on, scenario_at};

/// The candidates "a", who leads, and "b", who stands by.
pub(crate) struct TwoCandidates<S> {
    pub(crate) scenario: Scenario,
    pub(crate) server: Rc<S>,
    pub(crate) leader: CandidateProcess,
    /// The work of the leader.
    pub(crate) first: WorkerStart,
    pub(crate) next: CandidateProcess,
}

impl<S: StoreServer + 'static> TwoCandidates<S> {
    /// With leases that outlast what befalls the server for a few seconds.
    pub(crate) fn on(server: S) -> Self {
        Self::with_timing(server, PATIENT_ENOUGH)
    }

    /// With leases of these durations.
    pub(crate) fn with_timing(server: S, timing: TestTiming) -> Self {
        let server = Rc::new(server);
        let scenario = scenario_at(Rc::clone(&server)).with_timing(timing);
        let leader = scenario.candidate("a");
        let first = scenario.next_start();
        let next = scenario.candidate("b");
        next.stands_by();
        Self { scenario, server, leader, first, next }
    }

    /// Waits for the leader to tell of an error with this word in it.
    pub(crate) fn leader_is_refused(&self, word: &str) {
        refused(&self.leader, word);
    }

    /// Checks that the leader leads on under the same term, and that the other one is still there to follow it.
    pub(crate) fn ends_as_it_began(mut self) {
        goes_on(&self.scenario, &self.first);
        self.leader.signal(Signal::TERM);
        assert_eq!(self.leader.code(), 143);
        assert_eq!(self.scenario.next_start().candidate, "b", "the other one has given up");
        assert!(!self.next.running.process.is_dead());
        self.scenario.judge();
    }
}

/// Waits for a candidate to tell of an error with this word in it, and returns all that it says.
pub(crate) fn refused(candidate: &CandidateProcess, word: &str) -> String {
    loop {
        let error = candidate.event("error");
        let reason = error["reason"].as_str().unwrap();
        if reason.contains(word) {
            println!("{reason}");
            return reason.to_owned();
        }
    }
}
