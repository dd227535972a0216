//! Somebody else's transaction keeps the row of an election locked, or the whole table. Other elections of the same process
//! have nothing to do with the one, and go on.

use std::time::{Duration, Instant};

use tenure::LossReason;
use tenure::blocking::{Candidacy, Client};
use tenure_testkit::eventually;
use tenure_testkit::postgres::{PostgresOptions, PostgresServer};
use tenure_testkit::scenario::ELECTION;
use tenure_testkit::stores::StoreServer;
use tenure_testkit::test_timing::TestTiming;

use crate::postgres::STORE;
use crate::support::{EventLog, elected};

const OTHER: &str = "other";

/// Two processes with a candidate each in two elections, both led by the first.
struct TwoElections {
    server: PostgresServer,
    /// In one, then in the other.
    leader: [Candidacy; 2],
    next: [Candidacy; 2],
}

impl TwoElections {
    fn new(timings: TestTiming) -> Self {
        let server = STORE.serve(PostgresOptions::default());
        let timing = timings.validated();
        let process = |id: &str| {
            let client = Client::open(&StoreServer::url(&server)).unwrap();
            [ELECTION, OTHER].map(|name| {
                let candidacy = client.election(name).unwrap().candidate().timing(timing);
                candidacy.id(id).start().unwrap()
            })
        };
        let leader = process("a");
        leader.iter().for_each(|election| drop(elected(election)));
        let next = process("b");
        let stand_by = || server.value("SELECT count(*) FROM tenure.stand_by").as_deref() == Some("2");
        eventually("two who stand by", stand_by);
        Self { server, leader, next }
    }

    /// Keeps a lock of somebody else's for so long, and checks all the time that nobody leads beside another.
    fn while_locked(&self, lock: &str, lasts: Duration) {
        let mut session = self.server.session("postgres");
        session.run("BEGIN").unwrap();
        session.run(lock).unwrap();
        self.never_two_for(lasts);
        session.run("ROLLBACK").unwrap();
    }

    fn never_two_for(&self, lasts: Duration) {
        let began = Instant::now();
        while began.elapsed() < lasts {
            for (one, two) in self.leader.iter().zip(&self.next) {
                // The first is asked once more, since it may have stopped between two questions.
                let leads = [one, two, one].map(Candidacy::is_leader);
                assert_ne!(leads, [true; 3], "two lead in {}", one.name());
            }
            // Waits because nothing tells of two leaders; one looks as often as is cheap.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Somebody looks at the row of one election for longer than its lease lasts, with a lock that keeps all others out.
pub(crate) fn case_55_a_row_that_somebody_keeps_locked_costs_one_election_and_no_other() {
    let elections = TwoElections::new(TestTiming::from_millis(6_000, 500, 300));
    let [nightly, other] = &elections.leader;
    let (told, other_told) = (EventLog::by(nightly), EventLog::by(other));
    let terms = elections.leader.each_ref().map(|election| elected(election).term());
    let lock = "SELECT FROM tenure.election WHERE name = 'nightly' FOR UPDATE";
    elections.while_locked(lock, Duration::from_secs(8));
    told.error_with("another transaction holds a lock on this election");
    assert_eq!(told.loss().1, LossReason::Expired);
    eventually("a leader", || elections.leader[0].is_leader() || elections.next[0].is_leader());
    let terms_now =
        [&elections.leader[0], &elections.next[0]].map(|election| election.leadership().map(|held| held.term()));
    assert!(terms_now.iter().flatten().all(|term| *term > terms[0]), "{terms_now:?} after {terms:?}");
    assert_eq!(other.leadership().map(|held| held.term()), Some(terms[1]), "the other election was lost");
    assert!(!other_told.has_lost());
}

/// The whole table, for less time than leases last.
pub(crate) fn case_55_a_table_that_is_locked_for_a_while_costs_nothing() {
    let timing = TestTiming::from_millis(9_000, 1_000, 300);
    let elections = TwoElections::new(timing);
    let terms = elections.leader.each_ref().map(|election| elected(election).term());
    elections.while_locked("LOCK TABLE tenure.election", Duration::from_secs(3));
    // Longer than a lease lives that is not renewed.
    elections.never_two_for(timing.more_than_a_lease());
    let now = elections.leader.each_ref().map(|election| election.leadership().map(|held| held.term()));
    assert_eq!(now, terms.map(Some));
}
