//! Plain threads: no async runtime anywhere.

use std::sync::Arc;
use std::time::Duration;

use tenure::blocking::{Client, ReadTimedOut};
use tenure::{Error, EventKind, MemoryStore, Timing};

use crate::support::{Lab, block_on, id};

#[test]
fn threads_take_turns() {
    let client = Client::with_store(MemoryStore::new()).unwrap();
    let timing = Timing::from_ttl(Duration::from_secs(10)).unwrap();
    let leading = Arc::new(std::sync::Mutex::new(()));
    let threads = (0..4).map(|number| {
        let (client, leading) = (client.clone(), Arc::clone(&leading));
        std::thread::spawn(move || {
            let candidate = id(&format!("thread-{number}"));
            let candidacy = client.election("turns").unwrap().candidate().timing(timing).id(candidate).start().unwrap();
            let term = candidacy.run_while_leader(|leadership| {
                let _alone = leading.try_lock().expect("nobody else leads");
                leadership.term()
            });
            candidacy.stop();
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
fn a_reader_gives_up_in_time_and_loses_nothing() {
    let (soon, ample) = (Duration::from_millis(1), Duration::from_secs(60));
    let client = Client::with_store(MemoryStore::new()).unwrap();
    let election = client.election("read").unwrap();
    let (candidacy, mut events) = election.candidate().start_with_events().unwrap();
    let (mut channel, mut broadcasts) = (candidacy.channel("c").unwrap(), candidacy.broadcasts("c").unwrap());
    broadcasts.listening();
    assert_eq!(channel.next_timeout(soon).unwrap_err(), ReadTimedOut);
    assert_eq!(broadcasts.next_timeout(soon), Err(ReadTimedOut));
    election.send("c", &1).unwrap();
    election.broadcast("c", &2).unwrap();
    let delivery = channel.next_timeout(ample).unwrap().unwrap();
    assert_eq!(delivery.json::<u32>().unwrap(), 1);
    delivery.ack();
    assert_eq!(broadcasts.next_timeout(ample).unwrap().unwrap().json::<u32>().unwrap(), 2);
    candidacy.stop();
    while events.next_timeout(ample).unwrap().is_some() {}
    assert!(channel.next_timeout(ample).unwrap().is_none(), "the end is not a matter of time");
}

#[test]
fn waiting_gives_up_in_time() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let follower = lab.candidate("b").start().unwrap();
    assert!(follower.elected_timeout(Duration::from_millis(1)).unwrap().is_none());
    let leadership = leader.elected().unwrap();
    assert!(!leadership.wait_cancelled_for(Duration::from_millis(1)));
    follower.stop();
    assert!(matches!(follower.elected(), Err(Error::Stopped)));
    assert!(matches!(follower.elected_timeout(Duration::from_secs(1)), Err(Error::Stopped)));
}

#[test]
fn many_threads_ask_at_once() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10_000).for_each(|_| assert!(candidacy.is_leader())));
        }
    });
}

#[test]
fn both_worlds_speak_of_the_same_candidacy() {
    let lab = Lab::new();
    let leader = lab.leader("a");
    let term = leader.elected().unwrap().term();
    assert_eq!(block_on(leader.as_ref().elected()).unwrap().term(), term);
    let candidacy = leader.into_inner();
    assert!(candidacy.is_leader(), "nothing was left on the way");
    let leader = tenure::blocking::Candidacy::from(candidacy);
    leader.stop();
    assert_eq!(leader.state(), tenure::CandidacyState::Stopped);
}

#[test]
fn what_happens_can_be_iterated_over() {
    let lab = Lab::new();
    let (leader, events) = lab.candidate("a").start_with_events().unwrap();
    let held = leader.elected().unwrap();
    leader.stop();
    let told: Vec<EventKind> = events.map(|event| event.kind).collect();
    let Some(EventKind::Elected { leadership, .. }) = told.first() else { panic!("none is missed: {told:?}") };
    assert_eq!(*leadership, held, "it is what the work runs under");
    assert_eq!(told.last(), Some(&EventKind::Stopped));
}
