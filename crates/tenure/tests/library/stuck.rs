//! Work that does not stop: the lease lapses, somebody is told, and nothing is begun beside it.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use tenure::{Anomaly, ElectionError, EventKind};

use crate::support::{Lab, block_on, elected, eventually, next, timing};

#[test]
fn a_resignation_waits_for_the_grace_and_then_lets_the_lease_lapse() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let rival = lab.rival();
    let other = rival.candidate("b").start().unwrap();
    let mut events = lab.events(&candidacy);
    let leadership = candidacy.leadership().unwrap();
    let work = leadership.begin_work().unwrap();
    std::thread::scope(|scope| {
        let resigning = scope.spawn(|| candidacy.resign());
        leadership.wait_cancelled();
        lab.pass(timing().grace() + timing().reaction());
        block_on(leadership.overdue());
        assert!(!resigning.is_finished() && leadership.is_valid(), "nothing was released");
        assert!(!other.is_leader());

        lab.pass(leadership.remaining());
        let report = next(&mut events, |kind| matches!(kind, EventKind::Error { .. }));
        let EventKind::Error { error } = report.kind else { unreachable!() };
        assert_eq!(error, ElectionError::Anomaly(Anomaly::StuckWork { term: leadership.term() }));
        resigning.join().unwrap().unwrap();
    });
    lab.pass(timing().ttl());
    rival.settle();
    assert!(other.is_leader(), "somebody else takes over when the lease has run out");
    assert!(!candidacy.is_leader());
    drop(work);
}

#[test]
fn nothing_campaigns_until_it_has_ended() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let leadership = candidacy.leadership().unwrap();
    let work = leadership.begin_work().unwrap();
    candidacy.request_resign();
    lab.pass(timing().ttl() * 4);
    assert!(!candidacy.is_leader());
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
    drop(work);
    lab.pass(Duration::from_secs(2));
    assert!(candidacy.leadership().expect("it stands again").term() > leadership.term());
}

#[test]
fn leaving_does_not_wait_for_it_longer_than_for_the_lease() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let leadership = candidacy.leadership().unwrap();
    let work = leadership.begin_work().unwrap();
    candidacy.request_stop();
    lab.settle();
    lab.pass(leadership.remaining());
    assert!(candidacy.elected_timeout(Duration::ZERO).is_err());
    candidacy.stop();
    drop(work);
}

#[test]
fn an_elected_callback_that_does_not_return_counts_as_work() {
    let lab = Lab::new();
    let (finish, finished) = mpsc::channel::<()>();
    let finished = Mutex::new(finished);
    let hang = move |_| {
        let _ = finished.lock().unwrap().recv();
    };
    let candidacy = elected(lab.candidate("a").on_elected(hang));
    let mut events = lab.events(&candidacy);
    let leadership = candidacy.leadership().unwrap();
    candidacy.request_resign();
    lab.settle();
    assert!(lab.client.election("x").unwrap().observe().unwrap().lease.is_some(), "not released under it");
    lab.pass(timing().grace());
    let told = next(&mut events, |kind| matches!(kind, EventKind::Error { .. }));
    let EventKind::Error { error: ElectionError::Callback { callback, .. } } = told.kind else { panic!("{told:?}") };
    assert_eq!(callback, "elected");
    drop(finish);
    eventually("the release", || {
        lab.client.election("x").unwrap().observe().unwrap().lease.is_none() && !leadership.is_valid()
    });
}
