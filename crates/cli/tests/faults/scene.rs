//! A leader and one who stands by, on a server that something is about to happen to.

use std::rc::Rc;

use rustix::process::Signal;
use tenure_testkit::candidate::Candidate;
use tenure_testkit::pace::Pace;
use tenure_testkit::site::Site;
use tenure_testkit::stores::StoreServer;
use tenure_testkit::worker::Start;

use crate::{PATIENT_ENOUGH, goes_on, site_at};

/// The candidates "a", who leads, and "b", who stands by.
pub(crate) struct Scene<S> {
    pub(crate) site: Site,
    pub(crate) server: Rc<S>,
    pub(crate) leader: Candidate,
    /// The work of the leader.
    pub(crate) first: Start,
    pub(crate) next: Candidate,
}

impl<S: StoreServer + 'static> Scene<S> {
    /// With leases that outlast what befalls the server for a few seconds.
    pub(crate) fn on(server: S) -> Self {
        Self::paced(server, PATIENT_ENOUGH)
    }

    /// With leases of this pace.
    pub(crate) fn paced(server: S, pace: Pace) -> Self {
        let server = Rc::new(server);
        let site = site_at(Rc::clone(&server)).paced(pace);
        let leader = site.candidate("a");
        let first = site.next_start();
        let next = site.candidate("b");
        next.stands_by();
        Self { site, server, leader, first, next }
    }

    /// Waits for the leader to tell of an error with this word in it.
    pub(crate) fn leader_is_refused(&self, word: &str) {
        refused(&self.leader, word);
    }

    /// Checks that the leader leads on under the same term, and that the other one is still there to follow it.
    pub(crate) fn ends_as_it_began(mut self) {
        goes_on(&self.site, &self.first);
        self.leader.signal(Signal::TERM);
        assert_eq!(self.leader.code(), 143);
        assert_eq!(self.site.next_start().candidate, "b", "the other one has given up");
        assert!(!self.next.running.process.is_dead());
        self.site.judge();
    }
}

/// Waits for a candidate to tell of an error with this word in it, and returns all that it says.
pub(crate) fn refused(candidate: &Candidate, word: &str) -> String {
    loop {
        let error = candidate.event("error");
        let reason = error["reason"].as_str().unwrap();
        if reason.contains(word) {
            println!("{reason}");
            return reason.to_owned();
        }
    }
}
