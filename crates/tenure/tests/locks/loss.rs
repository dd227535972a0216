//! Losing the lock while it is held: an operator asks for it, which every store can do.

use std::future::pending;
use std::sync::mpsc;

use tenure::blocking::Client;
use tenure::{Error, LossReason};
use tenure_testkit::PATIENCE;
use tenure_testkit::test_timing::TestTiming;

use crate::empty_store::{EmptyStore, LOCK, had, wants};

fn ask_for_it(process: &Client) {
    assert!(process.election(LOCK).unwrap().request_handover().unwrap(), "nobody has it");
}

pub(crate) fn work_is_told_when_the_lock_is_lost_and_dropped_when_it_does_not_end(store: &EmptyStore) {
    let (process, operator) = (store.process(), store.process());
    let lock = wants(&process, "a").timing(TestTiming::SHORT.validated());
    let (told, tells) = mpsc::channel();
    std::thread::scope(|scope| {
        let working = scope.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(lock.as_ref().with_lock(async |leadership| {
                told.send("began").unwrap();
                leadership.cancelled().await;
                told.send("told to stop").unwrap();
                pending::<()>().await;
            }))
        });
        assert_eq!(tells.recv_timeout(PATIENCE), Ok("began"));
        ask_for_it(&operator);
        assert_eq!(tells.recv_timeout(PATIENCE), Ok("told to stop"));
        let error = working.join().unwrap().unwrap_err();
        assert!(matches!(error, Error::LockLost { reason: LossReason::Requested, .. }), "{error:?}");
    });
}

pub(crate) fn a_lost_lock_is_somebody_elses_only_after_its_guard_is_gone(store: &EmptyStore) {
    // Its next renewal tells it, should the hint come before it is listened to.
    let often = TestTiming::from_millis(600_000, 1_000, 100_000).validated();
    let (first, second) = (store.wants("a").timing(often), store.wants("b"));
    let guard = had(&first);
    ask_for_it(&store.process());
    guard.lost();
    assert!(!guard.is_held() && guard.leadership().is_valid(), "it has its grace");
    assert!(second.try_acquire().unwrap().is_none());
    let term = guard.term();
    guard.release().unwrap();
    assert!(had(&second).term() > term);
}
