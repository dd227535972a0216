//! Locks when the store, the clock or the work misbehaves. What holds on every store is in `tests/locks`.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure::blocking::{Lock, LockGuard};
use tenure::testing::{Fault, Operation};
use tenure::{Error, ErrorKind, LossReason, Priority};

use crate::support::{Lab, block_on, id, timing};

/// Much longer than a hand-over takes, much shorter than a ttl.
const SOON: Duration = Duration::from_millis(500);

impl Lab {
    fn lock(&self, holder: &str) -> Lock {
        self.client.lock("x").unwrap().timing(timing()).id(id(holder))
    }

    fn holder(&self, name: &str) -> LockGuard {
        self.lock(name).acquire().unwrap()
    }

    fn holder_in_store(&self) -> Option<String> {
        let lease = self.client.election("x").unwrap().observe().unwrap().lease;
        lease.map(|lease| lease.leader.candidate.to_string())
    }

    /// Who stands in line, the next one first.
    fn line(&self) -> Vec<String> {
        let observed = self.client.election("x").unwrap().observe().unwrap();
        observed.standing_by.iter().map(|stand_by| stand_by.candidate.to_string()).collect()
    }
}

/// Lets a future look around, without waiting for it.
fn poll<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Lets time pass until the future is done, for at most so long.
#[track_caller]
fn ends_within<F: Future + ?Sized>(lab: &Lab, limit: Duration, mut future: Pin<Box<F>>) -> F::Output {
    let step = Duration::from_millis(50);
    let mut passed = Duration::ZERO;
    loop {
        if let Poll::Ready(output) = poll(&mut future) {
            return output;
        }
        assert!(passed <= limit, "no end after {limit:?}");
        lab.pass(step);
        passed += step;
    }
}

#[test]
fn it_is_had_worked_under_and_released() {
    let lab = Lab::new();
    let term = block_on(lab.lock("a").as_ref().with_lock(async |leadership| {
        assert_eq!(lab.holder_in_store(), Some("a".to_owned()));
        leadership.term()
    }));
    assert_eq!(term.unwrap().get(), 1);
    assert_eq!(lab.holder_in_store(), None);
    assert_eq!(lab.client.election("x").unwrap().history(1).unwrap()[0].reason, "stopped");
}

#[test]
fn plain_threads_need_no_runtime() {
    let lab = Lab::new();
    let lock = lab.lock("a");
    assert_eq!(lock.with_lock(|leadership| leadership.term().get()).unwrap(), 1);
    let guard = lock.try_acquire().unwrap().unwrap();
    assert!(guard.is_held() && guard.term().get() == 2 && guard.name().as_str() == "x");
    guard.release().unwrap();
    assert_eq!(lab.holder_in_store(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_under_it_can_be_a_task_of_its_own() {
    let lab = Lab::new();
    let (waiting, trying, working) = (lab.lock("a"), lab.lock("b"), lab.lock("c"));
    let guard = tokio::spawn(async move { waiting.as_ref().acquire().await }).await.unwrap().unwrap();
    assert!(tokio::spawn(async move { trying.as_ref().try_acquire().await }).await.unwrap().unwrap().is_none());
    tokio::spawn(guard.release()).await.unwrap().unwrap();
    let work = async |leadership: tenure::Leadership| leadership.term().get();
    assert_eq!(tokio::spawn(async move { working.as_ref().with_lock(work).await }).await.unwrap().unwrap(), 2);
}

/// However long it takes to leave: nothing is kept for it meanwhile.
#[test]
fn whoever_tries_stands_in_nobodys_way() {
    let lab = Lab::new();
    let (guard, rival) = (lab.holder("a"), lab.rival());
    rival.store.inject(Operation::Resign, Fault::LoseRequest);
    assert!(rival.lock("b").try_acquire().unwrap().is_none());
    assert_eq!(lab.line(), Vec::<String>::new());
    guard.release().unwrap();
    assert!(lab.lock("c").try_acquire().unwrap().is_some_and(|guard| guard.is_held()));
}

#[test]
fn a_guard_that_is_dropped_releases_it() {
    let lab = Lab::new();
    let guard = lab.holder("a");
    drop(guard);
    lab.settle();
    assert_eq!(lab.holder_in_store(), None);
    assert_eq!(lab.holder("b").term().get(), 2);
}

#[test]
fn work_that_hangs_is_told_when_the_lock_is_lost_and_dropped_after_its_grace() {
    let lab = Lab::new();
    let (told, tells) = mpsc::channel();
    let lock = lab.lock("a");
    let mut running = Box::pin(lock.as_ref().with_lock(async |leadership| {
        leadership.cancelled().await;
        told.send(leadership.remaining()).unwrap();
        pending::<()>().await;
    }));
    while lab.holder_in_store().is_none() {
        assert!(poll(&mut running).is_pending());
    }
    lab.settle();
    lab.store.inject_everywhere(&Fault::BlackHole);
    // Its lease, and two attempts to release what is left of it.
    let error = ends_within(&lab, timing().ttl() + timing().attempt_timeout() * 3, running).unwrap_err();
    assert!(tells.recv().unwrap() >= timing().grace(), "it had its grace");
    assert_eq!(error.kind(), ErrorKind::LockLost);
    assert!(matches!(error, Error::LockLost { reason: LossReason::Expired, .. }), "{error:?}");
    assert!(error.to_string().contains("lock x was lost under term 1 (expired)"), "{error}");
}

#[test]
fn work_that_ends_in_its_grace_was_protected() {
    let lab = Lab::new();
    let lock = lab.lock("a");
    let mut running = Box::pin(lock.as_ref().with_lock(async |leadership| {
        leadership.cancelled().await;
        (leadership.is_valid(), leadership.loss())
    }));
    while lab.holder_in_store().is_none() {
        assert!(poll(&mut running).is_pending());
    }
    lab.settle();
    assert!(lab.client.election("x").unwrap().request_handover().unwrap());
    let result = ends_within(&lab, timing().ttl(), running).unwrap();
    assert_eq!(result, (true, Some(LossReason::Requested)));
    assert_eq!(lab.holder_in_store(), None);
}

#[test]
fn work_that_ends_after_its_lease_was_not_protected() {
    let lab = Lab::new();
    let error = lab.lock("a").with_lock(|_| lab.hands.advance(timing().ttl())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockLost);
    let guard = lab.holder("b");
    lab.hands.advance(timing().ttl());
    assert!(!guard.is_held());
    assert_eq!(guard.release().unwrap_err().kind(), ErrorKind::LockLost);
}

#[test]
fn a_holder_that_has_lost_it_does_not_campaign_again() {
    let lab = Lab::new();
    let guard = lab.holder("a");
    assert!(lab.client.election("x").unwrap().request_handover().unwrap());
    lab.pass(SOON);
    guard.lost();
    assert!(!guard.is_held() && guard.leadership().is_valid(), "in its grace");
    let rival = lab.rival();
    assert!(
        block_on(rival.lock("b").as_ref().try_acquire()).unwrap().is_none(),
        "the lease is kept until the guard is gone"
    );
    lab.store.forget_counts();
    lab.pass(timing().ttl() * 2);
    drop(guard);
    lab.pass(timing().ttl());
    assert_eq!(lab.store.requests(Operation::Campaign), 0);
}

#[test]
fn dropping_the_work_or_panicking_in_it_releases_the_lock() {
    let lab = Lab::new();
    let lock = lab.lock("a");
    {
        let mut running = Box::pin(lock.as_ref().with_lock(async |_| pending::<()>().await));
        while lab.holder_in_store().is_none() {
            assert!(poll(&mut running).is_pending());
        }
    }
    lab.settle();
    assert_eq!(lab.holder_in_store(), None);
    let panicking = || lock.with_lock(|_| panic!("on purpose"));
    let panic = catch_unwind(AssertUnwindSafe(panicking)).map(|result: Result<(), Error>| result).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
    lab.settle();
    assert_eq!(lab.holder_in_store(), None);
}

#[test]
fn trying_ends_even_if_the_store_hangs() {
    for fault in [Fault::BlackHole, Fault::SwallowReply] {
        let lab = Lab::new();
        lab.store.inject_everywhere(&fault);
        let lock = lab.lock("a").priority(0);
        let limit = Priority::new(0).unwrap().delay() + timing().attempt_timeout() * 2;
        let error = ends_within(&lab, limit, Box::pin(async move { lock.as_ref().try_acquire().await })).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store, "{error}");
        // Whatever it may have been granted is not kept.
        lab.store.heal();
        lab.pass(timing().ttl());
        assert_eq!(lab.holder_in_store(), None);
    }
}

#[test]
fn trying_behind_a_campaign_that_hangs_ends_all_the_same() {
    let lab = Lab::new();
    lab.store.inject_everywhere(&Fault::BlackHole);
    let patient = tenure::Preset::Patient.timing();
    let _other = lab.client.election("other").unwrap().candidate().timing(patient).start().unwrap();
    lab.settle();
    let lock = lab.lock("a");
    let limit = timing().attempt_timeout() * 2;
    let error = ends_within(&lab, limit, Box::pin(lock.as_ref().try_acquire())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store, "{error}");
}

#[test]
fn a_lock_that_is_reserved_counts_as_taken() {
    let lab = Lab::new();
    let guard = lab.holder("a");
    let rival = lab.rival();
    let next = rival.lock("b");
    let mut waiting = Box::pin(next.as_ref().acquire());
    assert!(poll(&mut waiting).is_pending());
    rival.settle();
    assert_eq!(lab.line(), ["b"]);
    rival.store.inject_everywhere(&Fault::BlackHole);
    guard.release().unwrap();
    assert!(lab.lock("c").try_acquire().unwrap().is_none());
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().reserved_for, Some(id("b")));
}

#[test]
fn a_wait_that_is_too_long_names_the_holder() {
    let lab = Lab::new();
    let _guard = lab.holder("a");
    let lock = lab.lock("b").max_wait(Duration::from_secs(5));
    let error = ends_within(&lab, Duration::from_secs(6), Box::pin(lock.as_ref().acquire())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockBusy);
    let told =
        "timed out after 5s waiting for lock x, held by a; wait longer, or see its holder with `tenure status x`";
    assert_eq!(error.to_string(), told);
    lab.settle();
    assert!(lab.line().is_empty(), "it has left the line");
}

#[test]
fn a_wait_that_is_too_long_says_so_when_it_is_the_store_that_fails() {
    let lab = Lab::new();
    let _guard = lab.holder("a");
    let rival = lab.rival();
    rival.store.inject(Operation::Campaign, Fault::LoseRequest);
    let lock = rival.lock("b").max_wait(Duration::from_secs(5));
    let error = ends_within(&rival, Duration::from_secs(6), Box::pin(lock.as_ref().acquire())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store, "{error}");
}

#[test]
fn a_wait_that_is_too_long_forgets_a_failure_that_is_over() {
    let lab = Lab::new();
    let _guard = lab.holder("a");
    let rival = lab.rival();
    let lock = rival.lock("b").max_wait(timing().ttl() * 2);
    let mut waiting = Box::pin(lock.as_ref().acquire());
    assert!(poll(&mut waiting).is_pending());
    rival.settle();
    rival.store.inject_once(Operation::Campaign, Fault::LoseRequest);
    let error = ends_within(&rival, timing().ttl() * 3, waiting).unwrap_err();
    assert!(rival.store.calls(Operation::Campaign) > 2);
    assert_eq!(error.kind(), ErrorKind::LockBusy, "{error}");
}

#[test]
fn an_outage_of_the_store_does_not_end_a_wait() {
    let lab = Lab::new();
    lab.store.inject(Operation::Campaign, Fault::LoseRequest);
    let lock = lab.lock("a");
    let mut waiting = Box::pin(lock.as_ref().acquire());
    for _ in 0..20 {
        assert!(poll(&mut waiting).is_pending());
        lab.pass(Duration::from_secs(1));
    }
    lab.store.heal();
    let guard = ends_within(&lab, timing().ttl(), waiting).unwrap();
    assert!(guard.is_held());
}

#[test]
fn whoever_stops_waiting_leaves_the_line() {
    let lab = Lab::new();
    let guard = lab.holder("a");
    let (first, second) = (lab.lock("b"), lab.lock("c"));
    let (mut first, mut second) = (Box::pin(first.as_ref().acquire()), Box::pin(second.as_ref().acquire()));
    assert!(poll(&mut first).is_pending());
    lab.pass(SOON);
    assert!(poll(&mut second).is_pending());
    lab.pass(SOON);
    assert_eq!(lab.line(), ["b", "c"]);
    drop(first);
    lab.settle();
    assert_eq!(lab.line(), ["c"]);
    guard.release().unwrap();
    let guard = ends_within(&lab, SOON, second).unwrap();
    assert_eq!(lab.holder_in_store(), Some("c".to_owned()));
    drop(guard);
}

#[test]
fn waiting_costs_the_store_what_standing_by_costs_it() {
    let lab = Lab::new();
    let _guard = lab.holder("a");
    let rival = lab.rival();
    let lock = rival.lock("b");
    let mut waiting = Box::pin(lock.as_ref().acquire());
    assert!(poll(&mut waiting).is_pending());
    rival.settle();
    rival.store.forget_counts();
    for _ in 0..60 {
        lab.pass(timing().ttl() / 20);
        rival.settle();
        assert!(poll(&mut waiting).is_pending());
    }
    let campaigns = rival.store.requests(Operation::Campaign);
    assert!((2..=4).contains(&campaigns), "{campaigns} in three ttls");
    assert_eq!(rival.store.calls(Operation::Observe), 0);
}

#[test]
fn whoever_was_not_looked_at_for_long_still_has_what_it_was_granted() {
    let lab = Lab::new();
    let holder = lab.holder("a");
    let waiting = lab.lock("b");
    let mut acquiring = Box::pin(waiting.as_ref().acquire());
    assert!(poll(&mut acquiring).is_pending());
    lab.settle();
    // More is told meanwhile than is kept for one who does not look.
    lab.store.inject(Operation::Campaign, Fault::LoseRequest);
    while lab.store.calls(Operation::Campaign) < 1_200 {
        lab.hands.advance(timing().renew_every());
        lab.settle();
    }
    lab.store.heal();
    holder.release().unwrap();
    lab.pass(timing().ttl());
    assert_eq!(lab.holder_in_store(), Some("b".to_owned()));
    let guard = ends_within(&lab, SOON, acquiring).unwrap();
    assert!(guard.is_held());
}

/// They come faster than the store answers.
#[test]
fn whoever_gives_up_before_it_has_asked_does_not_ask_any_more() {
    let lab = Lab::new();
    let guard = lab.holder("a");
    lab.store.inject(Operation::Campaign, Fault::HoldReply);
    let (first, other) = (lab.lock("b"), lab.lock("c"));
    let mut waiting = Box::pin(first.as_ref().acquire());
    assert!(poll(&mut waiting).is_pending());
    lab.settle();
    let asked = lab.store.requests(Operation::Campaign);
    for _ in 0..50 {
        let mut brief = Box::pin(other.as_ref().acquire());
        assert!(poll(&mut brief).is_pending());
        lab.settle();
    }
    lab.settle();
    lab.store.heal();
    lab.store.release();
    lab.settle();
    assert_eq!(lab.line(), ["b"]);
    // The one who waits may have looked again.
    let more = lab.store.requests(Operation::Campaign) - asked;
    assert!(more <= 1, "{more} campaigns although everybody else has given up");
    assert!(guard.is_held());
}
