//! A queue that is consumed only while leading.

use std::collections::VecDeque;
use std::future::pending;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use tenure::blocking::Candidacy;
use tenure::{Error, Leadership};
use tenure_testkit::eventually;

use crate::support::{Lab, block_on, timing};

/// A queue that is never closed, and that tells how often it was asked.
#[derive(Default)]
struct CountingQueue {
    items: Mutex<VecDeque<u32>>,
    asked: AtomicUsize,
}

impl CountingQueue {
    fn of(items: impl IntoIterator<Item = u32>) -> Self {
        Self { items: Mutex::new(items.into_iter().collect()), asked: AtomicUsize::new(0) }
    }

    /// Waits for ever when it is empty, as a queue does to which nobody sends.
    async fn fetch(&self) -> Option<u32> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let item = self.items.lock().unwrap().pop_front();
        if item.is_none() { pending().await } else { item }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn consume(
    candidacy: &Candidacy,
    queue: &CountingQueue,
    mut handle: impl FnMut(u32, &Leadership) -> Result<(), String>,
) -> Result<Result<(), String>, Error> {
    block_on(
        candidacy.as_ref().consume(|| queue.fetch(), |item, leadership| std::future::ready(handle(item, &leadership))),
    )
}

#[test]
fn items_are_handled_in_order_until_the_queue_ends_and_then_it_resigns() {
    let lab = Lab::new();
    let candidacy = lab.candidate("a").start().unwrap();
    let (mut left, mut handled) = (vec![3, 2, 1], Vec::new());
    let fetch = || std::future::ready(left.pop());
    let handle = |item, leadership: Leadership| {
        handled.push((item, leadership.term().get()));
        std::future::ready(Ok::<(), String>(()))
    };
    assert_eq!(block_on(candidacy.as_ref().consume(fetch, handle)).unwrap(), Ok(()));
    assert_eq!(handled, [(1, 1), (2, 1), (3, 1)]);
    assert!(!candidacy.is_leader());
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
}

#[test]
fn nothing_is_fetched_without_leading() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let follower = lab.candidate("b").start().unwrap();
    let queue = CountingQueue::of([1]);
    let (handled, items) = mpsc::channel();
    std::thread::scope(|scope| {
        let consuming = scope.spawn(|| {
            consume(&follower, &queue, |item, _| {
                handled.send(item).unwrap();
                Ok(())
            })
        });
        lab.pass(timing().ttl());
        assert_eq!(queue.asked(), 0);
        leader.stop();
        assert_eq!(items.recv().unwrap(), 1);
        follower.stop();
        assert!(matches!(consuming.join().unwrap(), Err(Error::Stopped)));
    });
}

#[test]
fn what_is_being_handled_is_finished_within_the_grace_and_nothing_more_is_fetched() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let queue = CountingQueue::of([1, 2]);
    let (said, says) = mpsc::channel();
    std::thread::scope(|scope| {
        let consuming = scope.spawn(|| {
            let handle = async |item, leadership: Leadership| {
                said.send(format!("began {item}")).unwrap();
                leadership.cancelled().await;
                let lease = lab.client.election("x").unwrap().observe().unwrap().lease;
                said.send(format!("finished {item}, held: {}", lease.is_some())).unwrap();
                Ok::<(), String>(())
            };
            block_on(candidacy.as_ref().consume(|| queue.fetch(), handle))
        });
        for item in 1..=2 {
            assert_eq!(says.recv().unwrap(), format!("began {item}"));
            let released = scope.spawn(|| candidacy.resign());
            assert_eq!(says.recv().unwrap(), format!("finished {item}, held: true"));
            released.join().unwrap().unwrap();
            assert_eq!(queue.asked(), item, "fetched without leading");
            // It is elected again, and goes on with the next item.
            lab.pass(std::time::Duration::from_secs(2));
        }
        candidacy.stop();
        assert!(matches!(consuming.join().unwrap(), Err(Error::Stopped)));
    });
}

#[test]
fn what_is_not_finished_within_the_grace_is_dropped_before_the_lease_is_released() {
    struct ConsumeWitness<'a>(&'a Lab, mpsc::Sender<bool>);
    impl Drop for ConsumeWitness<'_> {
        fn drop(&mut self) {
            let lease = self.0.client.election("x").unwrap().observe().unwrap().lease;
            self.1.send(lease.is_some()).unwrap();
        }
    }
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let queue = CountingQueue::of([1]);
    let ((began, begun), (dropped, drops)) = (mpsc::channel(), mpsc::channel());
    std::thread::scope(|scope| {
        let consuming = scope.spawn(|| {
            let handle = async |_, _| {
                let _witness = ConsumeWitness(&lab, dropped.clone());
                began.send(()).unwrap();
                pending::<Result<(), String>>().await
            };
            block_on(candidacy.as_ref().consume(|| queue.fetch(), handle))
        });
        begun.recv().unwrap();
        candidacy.request_resign();
        lab.settle();
        lab.hands.advance(timing().grace());
        let held = drops.recv().unwrap();
        candidacy.stop();
        assert!(held, "the lease was released under an item that was still handled");
        assert!(matches!(consuming.join().unwrap(), Err(Error::Stopped)));
    });
}

#[test]
fn an_item_that_fails_ends_it_with_its_error() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let queue = CountingQueue::of(1..=9);
    let result = consume(&candidacy, &queue, |item, _| if item < 3 { Ok(()) } else { Err(format!("item {item}")) });
    assert_eq!(result.unwrap(), Err("item 3".to_owned()));
    assert!(!candidacy.is_leader());
    assert_eq!(queue.asked(), 3);
}

#[test]
fn an_item_that_fails_in_its_grace_is_told_all_the_same() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let queue = CountingQueue::of([1]);
    let handle = async |_, leadership: Leadership| {
        candidacy.request_resign();
        leadership.cancelled().await;
        Err::<(), _>("interrupted")
    };
    assert_eq!(block_on(candidacy.as_ref().consume(|| queue.fetch(), handle)).unwrap(), Err("interrupted"));
}

#[test]
fn only_so_many_are_handled_at_a_time_and_all_are_finished_after_a_failure() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let queue = CountingQueue::of(1..=9);
    let (running, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let held_runs = tokio::sync::Notify::new();
    let limit = NonZeroUsize::new(3).unwrap();
    std::thread::scope(|scope| {
        let consuming = scope.spawn(|| {
            let handle = async |item, _| {
                running.fetch_add(1, Ordering::SeqCst);
                held_runs.notified().await;
                finished.fetch_add(1, Ordering::SeqCst);
                if item == 4 { Err("item 4") } else { Ok(()) }
            };
            block_on(candidacy.as_ref().consume_up_to(limit, || queue.fetch(), handle))
        });
        eventually("three items", || running.load(Ordering::SeqCst) == 3);
        assert_eq!(queue.asked(), 3, "there is no room for more");
        // One by one, in the order of their waiting: the first makes room for the fourth, which fails in its turn.
        for done in 1..=6 {
            held_runs.notify_one();
            eventually("its end", || finished.load(Ordering::SeqCst) == done);
            eventually("the next", || running.load(Ordering::SeqCst) == (3 + done).min(6));
        }
        assert_eq!(consuming.join().unwrap().unwrap(), Err("item 4"));
    });
    assert_eq!(queue.asked(), 6, "none is fetched after the failure");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_can_be_a_task_of_its_own() {
    let lab = Lab::new();
    let candidacy = lab.candidate("a").start().unwrap();
    let (sender, queue) = tokio::sync::mpsc::channel(1);
    let consuming = tokio::spawn(async move {
        let queue = tokio::sync::Mutex::new(queue);
        let handle = async |item: u32, _: Leadership| if item == 7 { Err(item) } else { Ok(()) };
        candidacy.as_ref().consume(|| async { queue.lock().await.recv().await }, handle).await.unwrap()
    });
    for item in [1, 7] {
        sender.send(item).await.unwrap();
    }
    assert_eq!(consuming.await.unwrap(), Err(7));
}
