//! Callbacks of the application: told in order, and harmless whatever they do.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tenure::store::{StoreError, StoreErrorKind};
use tenure::testing::{Fault, Operation};
use tenure::{ElectionError, EventKind, LossReason};

use crate::support::{Lab, elected, eventually, next, timing};

#[test]
fn elected_and_lost_come_in_order() {
    let lab = Lab::new();
    let (told, heard) = mpsc::channel();
    let also_told = told.clone();
    let candidacy = lab
        .candidate("a")
        .on_elected(move |leadership| told.send((leadership.term().get(), None)))
        .on_lost(move |term, reason| also_told.send((term.get(), Some(reason))))
        .start()
        .unwrap();
    for term in 1..=3 {
        assert_eq!(heard.recv().unwrap(), (term, None));
        candidacy.resign().unwrap();
        assert_eq!(heard.recv().unwrap(), (term, Some(LossReason::Resigned)));
        lab.pass(Duration::from_secs(2));
    }
}

#[test]
fn errors_are_told_and_do_not_end_the_candidacy() {
    let lab = Lab::new();
    let (told, heard) = mpsc::channel();
    let error = StoreError::refused(StoreErrorKind::Full, "no room");
    lab.store.inject_once(Operation::Campaign, Fault::Fail(error.clone()));
    let candidacy = lab.candidate("a").on_error(move |error| told.send(error)).start().unwrap();
    assert_eq!(heard.recv().unwrap(), ElectionError::Store(error));
    lab.pass(timing().renew_every());
    assert!(candidacy.is_leader());
}

#[test]
fn async_ones_need_no_runtime() {
    let lab = Lab::new();
    let (told, heard) = mpsc::channel();
    let (lost, is_lost) = mpsc::channel();
    let elected = move |leadership: tenure::Leadership| {
        let told = told.clone();
        async move {
            told.send(leadership.term()).unwrap();
            leadership.cancelled().await;
        }
    };
    let on_lost = move |term: tenure::Term, _| {
        let lost = lost.clone();
        async move { lost.send(term) }
    };
    let candidacy = lab.candidate("a").on_elected_async(elected).on_lost_async(on_lost).start().unwrap();
    let term = heard.recv().unwrap();
    candidacy.stop();
    assert_eq!(is_lost.recv().unwrap(), term);
}

#[test]
fn async_ones_run_on_the_runtime_they_were_started_on() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let lab = Lab::new();
    let (told, heard) = mpsc::channel();
    let (erred, errors) = mpsc::channel();
    let election = runtime.block_on(async {
        let on_elected = move |_| {
            let told = told.clone();
            async move {
                // Without a runtime around it this would panic.
                let on_runtime = tokio::spawn(async { 7 }).await.unwrap();
                told.send(on_runtime).unwrap();
                Err("on purpose")
            }
        };
        let on_error = move |error| {
            let erred = erred.clone();
            async move { erred.send(error) }
        };
        lab.candidate("a").on_elected_async(on_elected).on_error_async(on_error).start().unwrap()
    });
    assert_eq!(heard.recv().unwrap(), 7);
    assert_eq!(errors.recv().unwrap().to_string(), "the elected callback failed: on purpose");
    election.stop();
}

#[test]
fn panics_and_errors_are_reported_and_change_nothing() {
    let lab = Lab::new();
    // From the beginning: what the first callback does may be over before anybody could ask for events.
    let (candidacy, mut events) = lab
        .candidate("a")
        .on_elected(|_| -> () { panic!("elected on purpose") })
        .on_lost(|_, _| Err("lost on purpose"))
        .on_error(|_| -> () { panic!("error on purpose") })
        .start_with_events()
        .unwrap();
    let mut told = || {
        let event = next(&mut events, |kind| matches!(kind, EventKind::Error { .. }));
        let EventKind::Error { error } = event.kind else { unreachable!() };
        error.to_string()
    };
    let first = [told(), told()];
    assert!(first.contains(&"the elected callback panicked: elected on purpose".to_owned()), "{first:?}");
    assert!(first.contains(&"the error callback panicked: error on purpose".to_owned()), "{first:?}");
    lab.pass(timing().renew_every() * 3);
    assert_eq!(candidacy.leadership().expect("it goes on leading").term().get(), 1);
    candidacy.resign().unwrap();
    assert_eq!(told(), "the lost callback failed: lost on purpose");
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
}

#[test]
fn one_that_hangs_delays_neither_renewals_nor_other_elections() {
    let lab = Lab::new();
    let (finish, finished) = mpsc::channel::<()>();
    let finished = Mutex::new(finished);
    let hang = move |_| {
        let _ = finished.lock().unwrap().recv();
    };
    let hanging = elected(lab.candidate("a").on_elected(hang).on_lost(|_, _| ()));
    let leadership = hanging.leadership().unwrap();
    let other = lab.client.election("y").unwrap().candidate().timing(timing()).start().unwrap();
    lab.pass(timing().ttl() * 3);
    assert!(!leadership.is_cancelled() && hanging.is_leader(), "renewals go on");
    assert!(other.is_leader());

    let mut events = lab.events(&hanging);
    hanging.request_resign();
    lab.settle();
    lab.pass(timing().grace());
    let told = next(&mut events, |kind| matches!(kind, EventKind::Error { .. }));
    assert!(format!("{told:?}").contains("has not returned"), "{told:?}");
    assert!(other.is_leader());
    drop(finish);
}

#[test]
fn troubles_do_not_pile_up_behind_one_that_hangs() {
    let lab = Lab::new();
    let (finish, finished) = mpsc::channel::<()>();
    let finished = Mutex::new(finished);
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let hang = move |_| {
        *counted.lock().unwrap() += 1;
        let _ = finished.lock().unwrap().recv();
    };
    lab.store.inject(Operation::Campaign, Fault::LoseRequest);
    let candidacy = lab.candidate("a").on_error(hang).start().unwrap();
    lab.pass(timing().renew_every() * 150);
    assert!(lab.store.calls(Operation::Campaign) > 150);
    lab.store.heal();
    drop(finish);
    candidacy.stop();
    eventually("the last call", || *calls.lock().unwrap() >= 101);
    assert!(*calls.lock().unwrap() <= 110, "{calls:?}");
}

#[test]
fn the_lost_callback_ends_before_the_release_is_sent() {
    let lab = Lab::new();
    let (finish, finished) = mpsc::channel::<()>();
    let (entered, is_in) = mpsc::channel();
    let finished = Mutex::new(finished);
    let tidy_up = move |_, _| {
        entered.send(()).unwrap();
        let _ = finished.lock().unwrap().recv();
    };
    let candidacy = elected(lab.candidate("a").on_lost(tidy_up));
    let leadership = candidacy.leadership().unwrap();
    candidacy.request_resign();
    is_in.recv().unwrap();
    assert!(!candidacy.is_leader(), "not any more when it is told");
    lab.pass(timing().grace() - Duration::from_millis(100));
    assert_eq!(lab.store.calls(Operation::Resign), 0);
    assert!(leadership.is_valid());
    drop(finish);
    eventually("the release", || lab.store.calls(Operation::Resign) == 1);
    assert!(!leadership.is_valid());
}
