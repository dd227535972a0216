//! Work and callbacks that panic, hang or take their time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, mpsc};

use tenure::blocking::Candidacy;
use tenure::{Anomaly, ElectionError, Error, EventKind, LossReason};
use tenure_testkit::bound::{within, within_ns};
use tenure_testkit::eventually;
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;

use crate::support::{EventLog, TimedStore, elected};

pub(crate) fn case_11_a_panic_in_the_work_is_passed_on_and_gives_the_lease_back_at_once(store: &dyn Backend) {
    // A lease that is not given back would last longer than any test.
    let timed_store = TimedStore::new(store, TestTiming::PATIENT);
    let candidacy = timed_store.candidate("a").start().unwrap();
    let told = EventLog::by(&candidacy);
    let panicking = || candidacy.run_while_leader(|_| panic!("on purpose"));
    let panic = catch_unwind(AssertUnwindSafe(panicking)).map(|result: Result<(), Error>| result).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
    let (lost, reason) = told.loss();
    assert_eq!(reason, LossReason::Resigned);
    candidacy.stop();
    let next = timed_store.candidate("b").start().unwrap();
    let told = EventLog::by(&next);
    within_ns(
        "the next leader after a panic",
        lost.at.as_nanos(),
        told.election().at.as_nanos(),
        TestTiming::SHORT.max_failover(2),
    );
}

pub(crate) fn case_11_a_panic_in_a_callback_is_told_and_does_not_end_leadership(store: &dyn Backend) {
    let timed_store = TimedStore::new(store, TestTiming::SHORT);
    let candidacy = timed_store.candidate("a").on_elected(|_| -> () { panic!("on purpose") }).start().unwrap();
    let told = EventLog::by(&candidacy);
    told.error_with("the elected callback panicked: on purpose");
    let leadership = candidacy.leadership().expect("it leads");
    let until = leadership.trusted_until();
    eventually("a renewal", || leadership.trusted_until() > until);
    assert!(candidacy.is_leader() && !leadership.is_cancelled());
}

pub(crate) fn case_12_work_that_does_not_stop_keeps_the_lease_until_it_has_run_out(store: &dyn Backend) {
    let timed_store = TimedStore::new(store, TestTiming::SHORT);
    let candidacy = timed_store.candidate("a").start().unwrap();
    let told = EventLog::by(&candidacy);
    let leadership = elected(&candidacy);
    let work = leadership.begin_work().unwrap();
    let rival = timed_store.candidate("b").start().unwrap();
    let rival_told = EventLog::by(&rival);
    let until = leadership.trusted_until();
    candidacy.request_resign();
    let (lost, _) = told.loss();
    assert!(!candidacy.is_leader() && leadership.is_cancelled(), "it was not told to stop");
    assert!(leadership.is_valid(), "the lease was released under it");

    let taken = rival_told.election();
    assert!(taken.at >= until, "the lease was released under work that still runs");
    within("takeover from work that hangs", taken.at.saturating_since(lost.at), TestTiming::SHORT.max_failover(2));
    let stuck = ElectionError::Anomaly(Anomaly::StuckWork { term: leadership.term() });
    told.find("stuck work", |kind| matches!(kind, EventKind::Error { error } if *error == stuck).then_some(()));
    assert!(!candidacy.is_leader() && rival.is_leader());
    drop(work);
}

pub(crate) fn case_14_leadership_is_over_before_a_slow_lost_callback_begins(store: &dyn Backend) {
    let timed_store = TimedStore::new(store, TestTiming::SHORT);
    let handle: Arc<OnceLock<Candidacy>> = Arc::default();
    let its_handle = Arc::clone(&handle);
    let (began, begun) = mpsc::channel();
    let (finish, finished) = mpsc::channel::<()>();
    let finished = Mutex::new(finished);
    let tidy_up = move |_, _| {
        began.send(its_handle.wait().is_leader()).unwrap();
        let _ = finished.lock().unwrap().recv();
    };
    let candidacy = handle.get_or_init(|| timed_store.candidate("a").on_lost(tidy_up).start().unwrap());
    let leadership = elected(candidacy);
    let rival = timed_store.candidate("b").start().unwrap();
    let rival_told = EventLog::by(&rival);
    let until = leadership.trusted_until();
    candidacy.request_resign();
    assert!(!begun.recv().unwrap(), "it still led when the callback began");
    let taken = rival_told.election();
    assert!(taken.at >= until, "the lease was released under a callback that still runs");
    assert!(!candidacy.is_leader() && !leadership.is_valid());
    drop(finish);
    candidacy.stop();
    assert!(rival.is_leader());
}
