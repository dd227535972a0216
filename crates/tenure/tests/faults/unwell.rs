//! An application that hangs while its lease is renewed behind its back.

use std::time::Duration;

use tenure::LossReason;
use tenure_testkit::bound::{boot_ns, within, within_ns};
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;

use crate::support::{EventLog, TimedStore, elected};

const GATE: Duration = Duration::from_secs(1);

pub(crate) fn case_13_a_leader_that_hangs_and_still_renews_gives_the_lease_back(store: &dyn Backend) {
    // A lease that is not given back would last longer than any test.
    let timed_store = TimedStore::new(store, TestTiming::PATIENT);
    let candidacy = timed_store.candidate("a").require_heartbeat(GATE).start().unwrap();
    let told = EventLog::by(&candidacy);
    elected(&candidacy);
    let rival = timed_store.candidate("b").start().unwrap();
    let rival_told = EventLog::by(&rival);
    candidacy.heartbeat();
    let fed_ns = boot_ns();
    let (lost, reason) = told.loss();
    assert_eq!(reason, LossReason::Unhealthy);
    let hung_for = Duration::from_nanos(lost.at.as_nanos() - fed_ns);
    assert!(hung_for > GATE / 2, "it was not given its time: {hung_for:?}");
    within("step-down of a leader that hangs", hung_for, GATE + TestTiming::SHORT.max_failover(2));
    let taken = rival_told.election();
    within_ns("takeover from it", lost.at.as_nanos(), taken.at.as_nanos(), TestTiming::SHORT.max_failover(2));
    assert!(!candidacy.is_leader() && rival.is_leader());
}
