//! What callbacks and handlers have captured is the application's: it is dropped where that harms no election.

use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use tenure::ChannelName;
use tenure::blocking::{Candidacy, CandidacyBuilder};
use tenure::cron::Job;

use crate::support::{Lab, PATIENCE, elected, eventually, timing};

/// Does something when it is dropped. Callbacks have to be `Sync`, and so has it.
struct AtTheEnd<F: FnMut() + Send>(Mutex<F>);

impl<F: FnMut() + Send> AtTheEnd<F> {
    fn new(act: F) -> Self {
        Self(Mutex::new(act))
    }
}

impl<F: FnMut() + Send> Drop for AtTheEnd<F> {
    fn drop(&mut self) {
        (self.0.get_mut().unwrap())();
    }
}

/// Makes a closure capture it.
fn keep<C>(_captured: &C) {}

fn channel() -> ChannelName {
    ChannelName::new("refresh").unwrap()
}

/// A candidacy with everything that an application can give it to call.
fn with_everything<C: Send + Sync + 'static>(builder: CandidacyBuilder, capture: impl Fn() -> C) -> CandidacyBuilder {
    let [a, b, c, d, e, f] = [(); 6].map(|()| capture());
    builder
        .on_elected(move |_| keep(&a))
        .on_lost(move |_, _| keep(&b))
        .on_error(move |_| keep(&c))
        .on_message(channel(), move |_, _| keep(&d))
        .on_broadcast(channel(), move |_| keep(&e))
        .job(Job::new("nightly", "0 3 * * *").unwrap(), move |_| keep(&f))
}

/// Another election of the same thread, which has nothing to do with all this.
fn bystander(lab: &Lab) -> Candidacy {
    elected(lab.client.election("y").unwrap().candidate().timing(timing()))
}

fn goes_on(lab: &Lab, bystander: &Candidacy) {
    let term = bystander.leadership().expect("it leads").term();
    lab.pass(timing().ttl() * 2);
    assert_eq!(bystander.leadership().expect("it goes on leading").term(), term);
    elected(lab.client.election("z").unwrap().candidate().timing(timing())).stop();
}

#[test]
fn nothing_of_it_is_dropped_on_the_thread_that_holds_elections() {
    let lab = Lab::new();
    let (told, heard) = mpsc::channel();
    let capture = || {
        let told = told.clone();
        AtTheEnd::new(move || told.send(thread::current().name().map(str::to_owned)).unwrap())
    };
    let candidacy = elected(with_everything(lab.candidate("a"), capture));
    candidacy.stop();
    drop(candidacy);
    for _ in 0..6 {
        let thread = heard.recv_timeout(PATIENCE).unwrap();
        assert_ne!(thread.as_deref(), Some("tenure-driver"));
    }
}

#[test]
fn a_panic_in_the_drop_of_a_capture_ends_nothing() {
    let lab = Lab::new();
    let bystander = bystander(&lab);
    let (told, heard) = mpsc::channel();
    let capture = || {
        let told = told.clone();
        AtTheEnd::new(move || {
            told.send(()).unwrap();
            panic!("dropped on purpose");
        })
    };
    elected(with_everything(lab.candidate("a"), capture)).stop();
    for _ in 0..6 {
        heard.recv_timeout(PATIENCE).unwrap();
    }
    goes_on(&lab, &bystander);
}

#[test]
fn a_captured_runtime_ends_nothing() {
    let lab = Lab::new();
    let bystander = bystander(&lab);
    let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
    elected(with_everything(lab.candidate("a"), move || Mutex::new(runtime()))).stop();
    goes_on(&lab, &bystander);
}

#[test]
fn a_capture_that_takes_long_to_drop_costs_no_other_election_its_lease() {
    let lab = Lab::new();
    let bystander = bystander(&lab);
    let (finish, finished) = mpsc::channel::<()>();
    let (told, heard) = mpsc::channel();
    let capture = AtTheEnd::new(move || {
        told.send(()).unwrap();
        let _ = finished.recv_timeout(PATIENCE * 3);
    });
    elected(lab.candidate("a").on_elected(move |_| keep(&capture))).stop();
    heard.recv_timeout(PATIENCE).unwrap();
    // The driver is not asked to do anything, as `pass` would: if it hangs, only the clock must tell.
    let renewed = lab.store.calls(tenure::testing::Operation::Renew);
    for _ in 0..4 {
        lab.hands.advance(Duration::from_secs(6));
        // Waits because only the driver knows when it has renewed, and it may hang.
        thread::sleep(Duration::from_millis(200));
    }
    let is_leader = bystander.is_leader();
    drop(finish);
    assert!(is_leader, "{} renewals", lab.store.calls(tenure::testing::Operation::Renew) - renewed);
    eventually("the next candidate", || lab.client.election("z").unwrap().candidate().start().is_ok());
}
