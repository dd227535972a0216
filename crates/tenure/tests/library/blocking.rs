//! Plain threads: no async runtime anywhere.

use std::sync::Arc;
use std::time::Duration;

use tenure::{Client, Error, MemoryStore, Timing};

use crate::support::{Lab, id};

#[test]
fn threads_take_turns() {
    let client = Client::with_store(MemoryStore::new()).unwrap();
    let timing = Timing::from_ttl(Duration::from_secs(10)).unwrap();
    let leading = Arc::new(std::sync::Mutex::new(()));
    let threads = (0..4).map(|number| {
        let (client, leading) = (client.clone(), Arc::clone(&leading));
        std::thread::spawn(move || {
            let candidate = id(&format!("thread-{number}"));
            let election = client.election("turns").unwrap().candidate().timing(timing).id(candidate).start().unwrap();
            let term = election.run_while_leader_blocking(|leadership| {
                let _alone = leading.try_lock().expect("nobody else leads");
                leadership.term()
            });
            election.stop_blocking();
            term.unwrap()
        })
    });
    let threads: Vec<_> = threads.collect();
    let mut terms: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    terms.sort();
    terms.dedup();
    assert_eq!(terms.len(), 4, "a term of its own for each");
}

#[test]
fn waiting_gives_up_in_time() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let follower = lab.candidate("b").start().unwrap();
    assert!(follower.wait_elected_for(Duration::from_millis(1)).unwrap().is_none());
    let leadership = leader.wait_elected().unwrap();
    assert!(!leadership.wait_cancelled_for(Duration::from_millis(1)));
    follower.stop_blocking();
    assert!(matches!(follower.wait_elected(), Err(Error::Stopped)));
    assert!(matches!(follower.wait_elected_for(Duration::from_secs(1)), Err(Error::Stopped)));
}

#[test]
fn many_threads_ask_at_once() {
    let lab = Lab::new();
    let election = lab.leader("a");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10_000).for_each(|_| assert!(election.is_leader())));
        }
    });
}
