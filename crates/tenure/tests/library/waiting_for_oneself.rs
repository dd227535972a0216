//! Whoever is waited for must not wait: it is told so, at once.

use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use tenure::blocking::Candidacy;
use tenure::cron::Job;
use tenure::{ChannelName, ElectionError, Error, ErrorKind};

use crate::support::{Lab, PATIENCE, block_on, elected, next_trouble, timing};

/// An election that its own callbacks can reach.
type Own = Arc<OnceLock<Candidacy>>;

fn says_so(error: &ElectionError) -> bool {
    matches!(error, ElectionError::WaitsForItself { .. })
}

/// What a callback that resigns hears, and whether it was waited for.
fn resigns(own: &Own, heard: &mpsc::Sender<Result<(), Error>>) {
    let candidacy = own.wait();
    heard.send(candidacy.resign()).unwrap();
}

#[test]
fn stopping_in_ones_own_callback_returns_at_once_and_is_told() {
    let lab = Lab::new();
    let own = Own::default();
    let (told, heard) = mpsc::channel();
    let in_callback = Arc::clone(&own);
    let on_elected = move |_| {
        in_callback.wait().stop();
        told.send(()).unwrap();
    };
    own.set(lab.candidate("a").on_elected(on_elected).start().unwrap()).unwrap();
    let mut events = own.wait().events();
    heard.recv_timeout(PATIENCE).unwrap();
    // The clock stands still: nothing has run out.
    own.wait().stop();
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease, None);
    let error = next_trouble(&mut events, says_so);
    assert!(error.to_string().contains("request_stop"), "{error}");
}

#[test]
fn resigning_where_the_resignation_waits_is_an_error_and_happens_all_the_same() {
    let channel = ChannelName::new("refresh").unwrap();
    let job = || Job::new("often", "* * * * * *").unwrap();
    for place in ["elected", "message", "job"] {
        let lab = Lab::new();
        let (own, (told, heard)) = (Own::default(), mpsc::channel());
        let (in_callback, once) = (Arc::clone(&own), Mutex::new(Some(told)));
        let resign = move || {
            if let Some(told) = once.lock().unwrap().take() {
                resigns(&in_callback, &told);
            }
        };
        let builder = lab.candidate("a");
        let builder = match place {
            "elected" => builder.on_elected(move |_| resign()),
            "message" => builder.on_message(channel.clone(), move |_, _| resign()),
            _ => builder.job(job(), move |_| resign()),
        };
        lab.client.election("x").unwrap().send("refresh", "7").unwrap();
        own.set(elected(builder)).unwrap();
        lab.pass(Duration::from_secs(2));
        let error = heard.recv_timeout(PATIENCE).unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WaitsForItself, "{place}: {error}");
        assert!(error.to_string().contains("request_resign"), "{error}");
        let ended = || lab.client.election("x").unwrap().history(10).unwrap().iter().any(|it| it.reason == "resigned");
        tenure_testkit::eventually("the resignation", ended);
    }
}

#[test]
fn work_cannot_wait_for_its_own_end_either() {
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let resigned = candidacy.run_if_leader(|_| candidacy.resign()).unwrap();
    assert!(matches!(resigned, Err(Error::WaitsForItself)));
    candidacy.elected_timeout(Duration::ZERO).unwrap();
    let lab = Lab::new();
    let candidacy = lab.leader("a");
    let resigned = block_on(candidacy.as_ref().run_while_leader(async |_| candidacy.as_ref().resign().await)).unwrap();
    assert!(matches!(resigned, Err(Error::WaitsForItself)));
    let candidacy = elected(lab.client.election("y").unwrap().candidate().timing(timing()));
    block_on(candidacy.as_ref().run_if_leader_async(async |_| candidacy.as_ref().stop().await)).unwrap();
    candidacy.stop();
}

#[test]
fn another_election_may_be_waited_for() {
    let lab = Lab::new();
    let other = Arc::new(elected(lab.client.election("y").unwrap().candidate().timing(timing())));
    let (told, heard) = mpsc::channel();
    let in_callback = Arc::clone(&other);
    let candidacy = elected(lab.candidate("a").on_elected(move |_| {
        in_callback.stop();
        told.send(in_callback.elected().is_err()).unwrap();
    }));
    assert!(heard.recv_timeout(PATIENCE).unwrap(), "it has stopped");
    candidacy.stop();
}
