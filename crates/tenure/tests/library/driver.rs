//! The thread that holds all elections: what it shares, and when it ends.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tenure::EventKind;
use tenure::blocking::Client;
use tenure::testing::{Fault, FaultyStore, Operation};

use crate::support::{Lab, eventually, next, timing};

/// Lets go of everything but the driver's own hold on the store.
fn let_go(lab: Lab) -> (Client, Weak<FaultyStore>) {
    let Lab { store, client, .. } = lab;
    (client, Arc::downgrade(&store))
}

fn ends(driver: &Weak<FaultyStore>) {
    eventually("the end of the driver", || driver.strong_count() == 0);
}

#[test]
fn it_ends_with_the_last_handle() {
    let (client, driver) = let_go(Lab::new());
    let clone = client.clone();
    drop(client);
    clone.store().examine().unwrap();
    drop(clone);
    ends(&driver);
}

#[test]
fn it_ends_after_a_look_that_nobody_waited_for() {
    let lab = Lab::new();
    lab.store.inject(Operation::Observe, Fault::HoldReply);
    let store = Arc::clone(&lab.store);
    let (client, driver) = let_go(lab);
    {
        let election = client.election("x").unwrap();
        let mut look = Box::pin(election.as_ref().observe());
        let waker = std::task::Waker::noop();
        assert!(look.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
        eventually("the look", || store.calls(Operation::Observe) == 1);
    }
    drop(client);
    // Waits because nobody is left whom the driver could tell that it has noticed.
    std::thread::sleep(Duration::from_millis(50));
    store.release();
    drop(store);
    ends(&driver);
}

#[test]
fn it_ends_although_somebody_once_asked_for_hints() {
    let (client, driver) = let_go(Lab::new());
    let hints = client.as_ref().store().hints();
    client.store().examine().unwrap();
    drop(hints);
    drop(client);
    ends(&driver);
}

#[test]
fn an_election_outlives_the_handle_it_was_made_from() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let hands = Arc::clone(&lab.hands);
    let (client, driver) = let_go(lab);
    drop(client);
    let mut events = candidacy.events();
    next(&mut events, |kind| matches!(kind, EventKind::Elected { .. }));
    hands.advance(timing().renew_every() * 2);
    next(&mut events, |kind| matches!(kind, EventKind::Renewed { .. }));
    assert!(candidacy.is_leader());
    drop((candidacy, events));
    ends(&driver);
}
