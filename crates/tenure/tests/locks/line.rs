//! Waiting for the lock.

use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::Duration;

use tenure::blocking::Client;
use tenure::{Error, ErrorKind};
use tenure_testkit::eventually;

use crate::empty_store::{EmptyStore, LOCK, had, wants};

type LockWaiter<'a> = Pin<Box<dyn Future<Output = Result<tenure::LockGuard, Error>> + 'a>>;

/// Who stands in line, the next one first.
fn line(process: &Client) -> Vec<String> {
    let observed = process.election(LOCK).unwrap().observe().unwrap();
    observed.standing_by.iter().map(|stand_by| stand_by.candidate.to_string()).collect()
}

fn await_line(process: &Client, expected: &[&str]) {
    eventually("the line", || line(process) == expected);
}

pub(crate) fn a_wait_has_a_limit(store: &EmptyStore) {
    let guard = had(&store.wants("a"));
    // Longer each time: on a busy machine the store may not have answered within the first.
    let mut waits = [300, 3_000, 20_000].map(Duration::from_millis).into_iter().map(|limit| {
        let error = store.wants("b").max_wait(limit).acquire().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::LockBusy | ErrorKind::Store), "{error}");
        (limit, error)
    });
    let (limit, error) =
        waits.find(|(_, error)| error.kind() == ErrorKind::LockBusy).expect("a holder that is told of");
    assert!(error.to_string().starts_with(&format!("timed out after {limit:?} waiting for lock migrate, ")), "{error}");
    assert!(guard.is_held());
}

pub(crate) fn waiters_are_served_in_order_of_arrival(store: &EmptyStore) {
    const WAITERS: [&str; 5] = ["b", "c", "d", "e", "f"];
    let (process, guard) = (store.process(), had(&store.wants("a")));
    let (served, order) = mpsc::channel();
    std::thread::scope(|scope| {
        for (position, waiter) in WAITERS.iter().enumerate() {
            let (lock, served) = (store.wants(waiter), served.clone());
            scope.spawn(move || {
                let guard = had(&lock);
                served.send((*waiter, guard.term())).unwrap();
                guard.release().unwrap();
            });
            await_line(&process, &WAITERS[..=position]);
        }
        guard.release().unwrap();
    });
    drop(served);
    let (order, terms): (Vec<_>, Vec<_>) = order.iter().unzip();
    assert_eq!(order, WAITERS);
    assert!(terms.is_sorted_by(|one, next| one < next), "{terms:?}");
}

pub(crate) fn whoever_stops_waiting_is_not_served(store: &EmptyStore) {
    let (process, guard) = (store.process(), had(&store.wants("a")));
    let (first, second) = (store.wants("b"), store.wants("c"));
    let mut waiting: LockWaiter<'_> = Box::pin(first.as_ref().acquire());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    await_line(&process, &["b"]);
    std::thread::scope(|scope| {
        let next = scope.spawn(|| had(&second));
        await_line(&process, &["b", "c"]);
        drop(waiting);
        await_line(&process, &["c"]);
        guard.release().unwrap();
        assert!(next.join().unwrap().is_held());
    });
}

/// They come faster than a store answers, from one process and from several.
pub(crate) fn whoever_gives_up_leaves_the_line_however_many_do(store: &EmptyStore) {
    const TASKS: usize = 30;
    const TRIES: usize = 100;
    let (process, guard) = (store.process(), had(&store.wants("a")));
    let shared = store.process();
    std::thread::scope(|scope| {
        for task in 0..TASKS {
            let own = (task % 10 == 0).then(|| store.process());
            let lock = wants(own.as_ref().unwrap_or(&shared), "b").max_wait(Duration::from_millis(1));
            scope.spawn(move || (0..TRIES).for_each(|_| drop(lock.acquire().unwrap_err())));
        }
    });
    await_line(&process, &[]);
    let next = store.wants("c");
    std::thread::scope(|scope| {
        let next = scope.spawn(|| had(&next));
        await_line(&process, &["c"]);
        guard.release().unwrap();
        assert!(next.join().unwrap().is_held());
    });
}

pub(crate) fn whoever_tries_stands_in_no_line(store: &EmptyStore) {
    let (process, guard) = (store.process(), had(&store.wants("a")));
    assert!(store.wants("b").try_acquire().unwrap().is_none());
    await_line(&process, &[]);
    assert!(guard.is_held());
}
