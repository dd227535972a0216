//! One holder at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tenure::Term;
use tenure_testkit::test_timing::TestTiming;

use crate::empty_store::{EmptyStore, LOCK, had, wants};

/// Two holders in each of three processes, several times each.
pub(crate) fn one_holder_at_a_time_and_terms_that_grow(store: &EmptyStore) {
    const TURNS: usize = 4;
    let processes = [store.process(), store.process(), store.process()];
    let (held, terms) = (AtomicBool::new(false), Mutex::new(Vec::<Term>::new()));
    std::thread::scope(|scope| {
        for (number, process) in processes.iter().chain(&processes).enumerate() {
            let (held, terms) = (&held, &terms);
            scope.spawn(move || {
                let lock = wants(process, &format!("holder-{number}"));
                for _ in 0..TURNS {
                    let guard = had(&lock);
                    assert!(!held.swap(true, Ordering::SeqCst), "two holders");
                    assert!(guard.is_held());
                    terms.lock().unwrap().push(guard.term());
                    std::thread::yield_now();
                    held.store(false, Ordering::SeqCst);
                    guard.release().unwrap();
                }
            });
        }
    });
    let terms = terms.into_inner().unwrap();
    assert_eq!(terms.len(), 2 * processes.len() * TURNS);
    assert!(terms.is_sorted_by(|one, next| one < next), "{terms:?}");
}

pub(crate) fn trying_takes_what_is_free_and_never_waits(store: &EmptyStore) {
    let (first, second) = (store.wants("a"), store.wants("b"));
    let guard = first.try_acquire().unwrap().expect("it is free");
    let began = Instant::now();
    for lock in [&second, &first] {
        assert!(lock.try_acquire().unwrap().is_none(), "it has a holder");
    }
    // Nobody could wait out the lease.
    assert!(began.elapsed() < TestTiming::PATIENT.validated().ttl() / 2);
    let term = guard.term();
    guard.release().unwrap();
    let guard = second.try_acquire().unwrap().expect("it is free again");
    assert!(guard.term() > term);
}

pub(crate) fn a_release_lets_the_next_one_in_long_before_the_lease_would_have_run_out(store: &EmptyStore) {
    let (first, second) = (store.wants("a"), store.wants("b"));
    let mut guard = had(&first);
    for next in [&second, &first, &second] {
        let term = guard.term();
        guard = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| had(next));
            guard.release().unwrap();
            waiting.join().unwrap()
        });
        assert!(guard.term() > term);
    }
}

pub(crate) fn locks_of_other_names_and_namespaces_are_others(store: &EmptyStore) {
    let process = store.process();
    let elsewhere = process.with_namespace(format!("elsewhere-{}", std::process::id())).unwrap();
    let guards = [(&process, LOCK), (&process, "other"), (&elsewhere, LOCK)]
        .map(|(process, name)| had(&process.lock(name).unwrap()));
    assert!(guards.iter().all(tenure::blocking::LockGuard::is_held));
}
