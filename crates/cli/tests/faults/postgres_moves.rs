//! Elections that move from one PostgreSQL server to another, or are sought where they are not held.

use std::any::Any;
use std::rc::Rc;

use rustix::process::Signal;
use tenure_testkit::bound::{boot_ns, within};
use tenure_testkit::eventually;
use tenure_testkit::postgres::{APP, APP_PASSWORD, PostgresOptions, PostgresServer, Standby};
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::scenario::ELECTION;
use tenure_testkit::stores::StoreServer;
use tenure_testkit::test_timing::TestTiming;

use crate::postgres::STORE;
use crate::two_candidates::refused;
use crate::{assert_terms_never_fall, goes_on, renewals_since, scenario_at, until_told};

/// A lease that outlasts any failover, so that it is the new primary that ends it.
const LONG: TestTiming = TestTiming::from_millis(60_000, 1_000, 300);

/// A primary and its standby. Candidates know both.
struct PrimaryAndStandby {
    primary: PostgresServer,
    standby: Standby,
}

impl PrimaryAndStandby {
    fn start() -> Self {
        let primary = STORE.serve(PostgresOptions::default());
        let standby = Standby::of(&primary);
        Self { primary, standby }
    }

    /// The standby takes the place of the primary, which is dead.
    fn fail_over(&self) {
        self.primary.kill();
        self.standby.promote();
    }
}

impl StoreServer for PrimaryAndStandby {
    fn url(&self) -> String {
        let hosts = [&self.primary, &*self.standby].map(|server| server.address().to_string());
        format!("postgres://{APP}:{APP_PASSWORD}@{}/postgres", hosts.join(","))
    }

    fn stall(&self) -> Box<dyn Any> {
        Box::new((self.primary.pause(), self.standby.pause()))
    }
}

/// The worst that asynchronous replication allows: the standby has never heard of the lease. Its leader is told by its next
/// renewal, and until then there may be two, which is what the documentation admits. Terms grow, since they begin with the
/// timeline.
pub(crate) fn case_45_after_a_failover_that_forgets_terms_grow_and_two_lead_no_longer_than_admitted() {
    let servers = Rc::new(PrimaryAndStandby::start());
    let scenario = scenario_at(Rc::clone(&servers)).with_timing(LONG);
    assert_eq!(scenario.finish(["run", ELECTION, "--", "true"]).code, Some(0), "a term that is not forgotten");
    servers.standby.await_all_of(&servers.primary);
    servers.standby.cut();
    let leader = scenario.candidate("a");
    let first = scenario.next_start();
    let next = scenario.candidate("b");
    next.stands_by();
    servers.fail_over();
    let lost = leader.event("lost");
    assert!(["revoked", "superseded", "regressed"].iter().any(|reason| lost["reason"] == *reason), "{lost}");
    let second = scenario.next_start();
    println!("{} leads under {} after {lost}", second.candidate, second.term);
    assert!(second.term > first.term, "{second:?} after {first:?}");
    assert_eq!((first.term >> 40, second.term >> 40), (1, 2), "a term begins with the timeline");
    eventually("the end of the first work", || ProcessHandle::open(first.pid).is_dead());
    within("two workers at once", scenario.journal().longest_overlap(), until_told(&scenario));
    assert_terms_never_fall(&scenario);
    let now_ns = boot_ns();
    eventually("a renewal at the new primary", || renewals_since(&scenario, now_ns) > 0);
    let status = scenario.status();
    assert_eq!((&status["leader"], &status["term"]), (&second.candidate.as_str().into(), &second.term.into()));
}

/// A standby that confirms what is written has the lease, too.
pub(crate) fn case_45_a_failover_to_a_synchronous_standby_costs_nothing() {
    let servers = Rc::new(PrimaryAndStandby::start());
    servers.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    servers.primary.sql("SELECT pg_reload_conf()");
    let is_synchronous = || servers.primary.sql("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'").len() == 1;
    eventually("a standby that confirms", is_synchronous);
    let scenario = scenario_at(Rc::clone(&servers)).with_timing(LONG);
    let _leader = scenario.candidate("a");
    let first = scenario.next_start();
    let next = scenario.candidate("b");
    next.stands_by();
    servers.fail_over();
    goes_on(&scenario, &first);
    scenario.judge();
}

/// Candidates name the old primary first, and it takes writes: it is told from its successor by its timeline alone.
pub(crate) fn case_45_an_old_primary_that_comes_back_as_it_was_leads_nobody() {
    let servers = Rc::new(PrimaryAndStandby::start());
    let scenario = scenario_at(Rc::clone(&servers)).with_timing(LONG);
    let _leader = scenario.candidate("a");
    let first = scenario.next_start();
    servers.standby.await_all_of(&servers.primary);
    servers.fail_over();
    goes_on(&scenario, &first);
    servers.primary.restart();
    assert!(servers.primary.is_primary(), "the fault did not happen");
    let fresh = scenario.candidate("b");
    fresh.stands_by();
    assert_eq!(scenario.status()["term"], first.term);
    scenario.judge();
}

/// What a standby shows is from the past, and nothing can be granted there.
pub(crate) fn case_46_a_standby_is_refused_with_words_that_say_so() {
    let primary = STORE.serve(PostgresOptions::default());
    let scenario = scenario_at(Standby::of(&primary));
    let finished = scenario.finish(["status", ELECTION]);
    assert_ne!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stderr.contains("it is a standby; elections are held on the primary"), "{finished:?}");
    let candidate = scenario.elect("a");
    let reason = refused(&candidate, "it is a standby");
    assert!(!reason.contains(APP_PASSWORD), "{reason}");
    candidate.signal(Signal::TERM);
    let events = candidate.events_to_the_end();
    assert!(events.iter().all(|event| event["event"] != "elected"), "{events:#?}");
}
