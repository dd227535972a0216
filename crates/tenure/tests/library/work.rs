//! Work that runs only while its candidate leads.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tenure::testing::Fault;
use tenure::{Error, Leadership, Term};

use crate::support::{Lab, block_on, eventually, timing};

/// Says when it is dropped, and whether the lease was still held then.
struct DropWitness<'a>(&'a Lab, mpsc::Sender<bool>);

impl Drop for DropWitness<'_> {
    fn drop(&mut self) {
        let lease = self.0.client.election("x").unwrap().observe().unwrap().lease;
        self.1.send(lease.is_some()).unwrap();
    }
}

#[test]
fn it_starts_at_each_election_and_is_cancelled_at_each_loss() {
    let lab = Lab::new();
    let candidacy = lab.candidate("a").start().unwrap();
    let (began, terms) = mpsc::channel::<Leadership>();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            block_on(candidacy.as_ref().run_while_leader(async |leadership| {
                began.send(leadership.clone()).unwrap();
                leadership.cancelled().await;
            }))
        });
        let mut last: Option<Term> = None;
        for _ in 0..3 {
            let leadership = terms.recv().unwrap();
            assert!(last.is_none_or(|last| leadership.term() > last));
            last = Some(leadership.term());
            candidacy.resign().unwrap();
            assert!(!leadership.is_valid(), "released");
            lab.pass(Duration::from_secs(2));
        }
        terms.recv().unwrap();
        candidacy.stop();
        assert!(matches!(running.join().unwrap(), Err(Error::Stopped)));
    });
}

#[test]
fn it_is_cancelled_with_its_grace_left_when_the_store_is_silent() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let leadership = candidacy.leadership().unwrap();
    let work = leadership.begin_work().unwrap();
    lab.store.inject_everywhere(&Fault::BlackHole);
    while !leadership.is_cancelled() {
        lab.pass(Duration::from_millis(50));
    }
    assert!(leadership.remaining() > timing().grace(), "{:?}", leadership.remaining());
    assert!(leadership.wait_cancelled_for(Duration::from_secs(20)));
    drop(work);
}

#[test]
fn the_lease_is_released_only_after_an_overdue_future_is_gone() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let (dropped, drops) = mpsc::channel();
    let (began, begun) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            block_on(candidacy.as_ref().run_while_leader(async |_| {
                let _witness = DropWitness(&lab, dropped.clone());
                began.send(()).unwrap();
                pending::<()>().await;
            }))
        });
        begun.recv().unwrap();
        candidacy.request_resign();
        lab.settle();
        lab.hands.advance(timing().grace());
        let held = drops.recv().unwrap();
        candidacy.stop();
        assert!(held, "the lease was released under a future that still lived");
    });
}

#[test]
fn its_result_is_returned_and_the_lease_released() {
    let lab = Lab::new();
    let candidacy = lab.candidate("a").start().unwrap();
    let term = block_on(candidacy.as_ref().run_while_leader(async |leadership| leadership.term())).unwrap();
    assert_eq!(term.get(), 1);
    assert!(!candidacy.is_leader());
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
    assert_eq!(lab.client.election("x").unwrap().history(1).unwrap()[0].reason, "resigned");
}

#[test]
fn a_panic_in_it_is_passed_on_and_resigns() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let panicking = || block_on(candidacy.as_ref().run_while_leader(async |_| panic!("on purpose")));
    let panic = catch_unwind(AssertUnwindSafe(panicking)).map(|result: Result<(), Error>| result).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
    lab.settle();
    assert!(!candidacy.is_leader());
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
}

#[test]
fn dropping_the_caller_drops_the_work_and_resigns() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let (dropped, drops) = mpsc::channel();
    {
        let mut running = Box::pin(candidacy.as_ref().run_while_leader(async |_| {
            let _witness = DropWitness(&lab, dropped.clone());
            pending::<()>().await;
        }));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(running.as_mut().poll(&mut context).is_pending());
    }
    assert!(drops.recv().unwrap());
    lab.settle();
    assert!(!candidacy.is_leader());
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
}

#[test]
fn single_pieces_run_only_on_the_leader() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let follower = lab.candidate("b").start().unwrap();
    assert_eq!(leader.run_if_leader(|leadership| leadership.term().get()), Some(1));
    assert_eq!(follower.run_if_leader(|_| ()), None);
    assert_eq!(block_on(leader.as_ref().run_if_leader_async(async |leadership| leadership.term().get())), Some(1));
    assert_eq!(block_on(follower.as_ref().run_if_leader_async(async |_| ())), None);
    assert!(leader.is_leader(), "leadership is kept");
}

#[test]
fn a_single_piece_is_waited_for_and_dropped_when_overdue() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let (dropped, drops) = mpsc::channel();
    std::thread::scope(|scope| {
        let (began, begun) = mpsc::channel();
        let (lab, candidacy) = (&lab, &candidacy);
        let running = scope.spawn(move || {
            block_on(candidacy.as_ref().run_if_leader_async(async |_| {
                let _witness = DropWitness(lab, dropped);
                began.send(()).unwrap();
                pending::<()>().await;
            }))
        });
        begun.recv().unwrap();
        candidacy.request_resign();
        lab.settle();
        lab.hands.advance(timing().grace());
        assert!(drops.recv().unwrap());
        assert_eq!(running.join().unwrap(), None);
    });
}

#[test]
fn a_panic_in_a_single_piece_resigns() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    catch_unwind(AssertUnwindSafe(|| candidacy.run_if_leader(|_| panic!("on purpose")))).unwrap_err();
    lab.settle();
    assert!(!candidacy.is_leader());
}

#[test]
fn many_pieces_at_once_are_all_waited_for() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let (running, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let finish = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                candidacy.run_if_leader(|_| {
                    running.fetch_add(1, Ordering::SeqCst);
                    eventually("the end", || finish.load(Ordering::SeqCst));
                    done.fetch_add(1, Ordering::SeqCst);
                })
            });
        }
        eventually("the work", || running.load(Ordering::SeqCst) == 8);
        let resigning = scope.spawn(|| candidacy.resign());
        lab.settle();
        assert!(!resigning.is_finished());
        finish.store(true, Ordering::SeqCst);
        resigning.join().unwrap().unwrap();
        assert_eq!(done.load(Ordering::SeqCst), 8);
    });
}

#[test]
fn work_on_a_plain_thread_starts_and_stops() {
    let lab = Lab::new();
    let candidacy = Arc::new(lab.candidate("a").start().unwrap());
    let leader = Arc::clone(&candidacy);
    let (began, begun) = mpsc::channel();
    let running = std::thread::spawn(move || {
        leader.run_while_leader(|leadership| {
            began.send(leadership.term()).unwrap();
            leadership.wait_cancelled();
        })
    });
    begun.recv().unwrap();
    candidacy.stop();
    assert!(matches!(running.join().unwrap(), Err(Error::Stopped)));
}
