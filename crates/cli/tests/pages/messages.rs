//! `docs/messages.md`: a message, a leader that reads it, dead letters, and a broadcast.

use serde_json::Value;
use tenure::blocking::Client;
use tenure_testkit::eventually;

use crate::stage::{Stage, lines};

pub(crate) fn commands([send, listen, look, broadcast]: [String; 4]) {
    let stage = Stage::new();
    // Who sends does not create the store.
    stage.does("tenure lock first -- true");
    assert!(stage.does(&send).starts_with("sent "));
    to_a_leader(&stage, &listen);
    dead_letters(&send, &look);
    at_most_once(&stage, &broadcast);
}

fn to_a_leader(stage: &Stage, listen: &str) {
    let [export, elect, send] = lines(listen);
    let [mut leader, mut sender] = [stage.terminal(), stage.terminal()];
    leader.does(&export);
    leader.enter(&format!("{elect}\n"));
    eventually("the store of a leader", || stage.path("tenure.db").exists());
    sender.does(&export);
    sender.does(&send);
    leader.shows("\"day\": \"monday\"");
}

/// On a store in which the message has failed.
fn dead_letters(send: &str, look: &str) {
    let stage = Stage::new();
    let mut terminal = stage.terminal();
    terminal.does("export TENURE_STORE=sqlite:tenure.db; tenure lock first -- true");
    terminal.does(send);
    let client = Client::open(&format!("sqlite:{}", stage.path("tenure.db").display())).unwrap();
    let candidate = client.election("nightly-report").unwrap().candidate().max_attempts(1);
    let candidacy = candidate.on_message("refresh", |_, _| Err("no such table")).start().unwrap();

    let [counts, waiting, letters, requeue, requeue_all] = lines(look);
    eventually("a dead letter", || terminal.does(&letters).contains("no such table"));
    candidacy.stop();
    let listed = terminal.does("tenure messages nightly-report --dead-letters --json");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    assert!(terminal.does(&counts).contains("nightly-report  0        1"));
    assert!(terminal.does(&waiting).starts_with("no messages waiting in nightly-report"));
    assert_eq!(requeue.matches(" ID ").count(), 1, "{requeue}");
    let requeued = terminal.does(&requeue.replace(" ID ", &format!(" {id} ")));
    assert_eq!(requeued, "1 message(s) requeued\n");
    assert!(terminal.does(&waiting).contains(id));
    assert_eq!(terminal.does(&requeue_all), "0 message(s) requeued\n");
}

/// What is sent before anybody listens is lost, so it is sent until it is shown.
fn at_most_once(stage: &Stage, broadcast: &str) {
    let [listen, send] = lines(broadcast);
    let [mut listener, mut sender] = [stage.terminal(), stage.terminal()];
    listener.enter(&format!("{listen}\n"));
    eventually("a broadcast", || {
        sender.does(&send);
        listener.has_shown("\"prices\"")
    });
}
