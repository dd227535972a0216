//! Elections as an application sees them.

use std::sync::mpsc;
use std::time::Duration;

use tenure::blocking::Client;
use tenure::{CandidateId, LossReason, MemoryStore, Timing};

fn short() -> Timing {
    Timing::from_ttl(Duration::from_secs(3)).unwrap()
}

fn id(text: &str) -> CandidateId {
    CandidateId::new(text).unwrap()
}

#[test]
fn one_of_two_leads_and_the_other_takes_over_when_it_leaves() {
    let client = Client::with_store(MemoryStore::new()).unwrap();
    let first = client.election("x").unwrap().candidate().timing(short()).id(id("first")).start().unwrap();
    let one = first.elected().unwrap();
    let second = client.election("x").unwrap().candidate().timing(short()).id(id("second")).start().unwrap();
    assert!(first.is_leader() && one.is_valid());
    assert_eq!(second.current_leader().unwrap().unwrap().candidate, id("first"));
    assert!(!second.is_leader());

    first.stop();
    assert!(!first.is_leader() && !one.is_valid() && one.is_cancelled());
    let two = second.elected_timeout(Duration::from_secs(20)).unwrap().expect("elected");
    assert!(two.term() > one.term());
}

#[test]
fn resigning_waits_for_work_and_tells_why() {
    let client = Client::with_store(MemoryStore::new()).unwrap();
    let (sender, lost) = mpsc::channel();
    let candidacy = client.election("x").unwrap().candidate().timing(short());
    let candidacy = candidacy.on_lost(move |_, reason| sender.send(reason)).start().unwrap();
    let leadership = candidacy.elected().unwrap();
    let work = leadership.begin_work().unwrap();
    std::thread::scope(|scope| {
        let resigning = scope.spawn(|| candidacy.resign());
        leadership.wait_cancelled();
        assert!(!candidacy.is_leader(), "no new work");
        assert!(leadership.is_valid(), "but what runs is still covered");
        drop(work);
        resigning.join().unwrap().unwrap();
    });
    assert!(leadership.begin_work().is_none());
    assert!(!leadership.is_valid());
    assert_eq!(lost.recv().unwrap(), LossReason::Resigned);
}
