//! Applications whose threads do something else for longer than a lease.

use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tenure::blocking::Candidacy;
use tenure::testing::Fault;
use tenure::{Leadership, Timing};
use tenure_testkit::bound::within;
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;

use crate::support::{TimedStore, elected};

/// The only thread of the application's runtime does not come back from the callback. What the callback sees meanwhile is
/// told afterwards.
pub(crate) fn case_10_a_runtime_whose_only_thread_is_blocked_keeps_its_lease_and_knows_when_it_has_lost_it(
    store: &dyn Backend,
) {
    let timed_store = TimedStore::new(store, TestTiming::SHORT);
    let timing = timed_store.timing;
    let (faults, builder) = timed_store.candidate_at_risk("a");
    let handle: Arc<OnceLock<Candidacy>> = Arc::default();
    let (report, reported) = mpsc::channel();
    let (its_handle, its_faults) = (Arc::clone(&handle), Arc::clone(&faults));
    let callback = move |leadership: Leadership| {
        let candidacy = its_handle.wait();
        let kept = last_yes(timing.ttl() * 2, || candidacy.is_leader() && leadership.is_valid());
        its_faults.inject_everywhere(&Fault::BlackHole);
        let led_on = last_yes(timing.ttl(), || candidacy.is_leader());
        report.send((kept, led_on, leadership.is_cancelled())).unwrap();
        async {}
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let candidacy = builder.on_elected_async(callback).start().unwrap();
        handle.set(candidacy).map_err(|_| "set once").unwrap();
        // The callback runs while this waits, on this thread.
        let (kept, led_on, is_cancelled) = loop {
            tokio::task::yield_now().await;
            if let Ok(report) = reported.try_recv() {
                break report;
            }
        };
        assert!(kept > timing.ttl(), "the lease was lost after {kept:?} although the store answered");
        assert!(is_cancelled, "nobody told it to stop");
        within("leadership without a store", led_on, longest_trust(&timing));
    });
}

/// One thread, no runtime, and nobody who reads events.
pub(crate) fn case_19_an_application_that_is_blocked_keeps_its_lease_and_knows_when_it_has_lost_it(
    store: &dyn Backend,
) {
    let timed_store = TimedStore::new(store, TestTiming::SHORT);
    let (faults, builder) = timed_store.candidate_at_risk("a");
    let candidacy = builder.start().unwrap();
    let leadership = elected(&candidacy);
    let rival = timed_store.candidate("b").start().unwrap();
    let until = leadership.trusted_until();
    block(timed_store.timing.ttl() * 2);
    assert!(candidacy.is_leader() && !leadership.is_cancelled() && leadership.is_valid());
    assert!(leadership.trusted_until() > until + timed_store.timing.ttl(), "nobody renewed");
    assert!(!rival.is_leader());

    faults.inject_everywhere(&Fault::BlackHole);
    block(timed_store.timing.ttl() * 2);
    assert!(!candidacy.is_leader() && leadership.is_cancelled() && !leadership.is_valid());
    assert!(elected(&rival).term() > leadership.term());
}

/// Asks again and again for so long whether something holds. Returns when the last question was asked that was answered
/// with yes.
fn last_yes(time: Duration, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    let mut last = Duration::ZERO;
    loop {
        let asked = start.elapsed();
        if asked > time || !holds() {
            return last;
        }
        last = asked;
        block(Duration::from_millis(1));
    }
}

fn block(time: Duration) {
    // Waits because a thread that is not there for so long is the fault.
    thread::sleep(time);
}

/// How long leadership lasts after the last answer of the store: new work may begin until the grace is needed.
fn longest_trust(timing: &Timing) -> Duration {
    timing.hold() - timing.grace()
}
