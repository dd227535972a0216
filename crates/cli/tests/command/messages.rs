//! `tenure send`, `tenure messages` and `tenure elect --channel`.

use std::io::Write;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure::MessageState;
use tenure::blocking::Client;
use tenure_testkit::eventually;
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::support::scenario;

fn send(scenario: &Scenario, channel: &str, payload: &str) -> String {
    let sent = scenario.json(&["send", ELECTION, channel, payload, "--json"]);
    assert_eq!((&sent["election"], &sent["channel"]), (&json!(ELECTION), &json!(channel)));
    sent["id"].as_str().unwrap().to_owned()
}

fn waiting(scenario: &Scenario) -> Value {
    scenario.json(&["messages", ELECTION, "--json"])
}

/// Sends what stands on standard input.
fn send_from_stdin(scenario: &Scenario, text: &[u8]) -> FinishedProcess {
    let mut child = scenario.tenure(["send", ELECTION, "refresh", "-"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It need not read more than may be sent.
    let _ = stdin.write_all(text);
    drop(stdin);
    RunningProcess::of(child).finish()
}

#[test]
fn a_message_waits_is_printed_by_the_leader_and_is_gone() {
    let scenario = scenario();
    let id = send(&scenario, "refresh", r#"{ "day" : "monday", "number" : 12345678901234567890123 }"#);
    let listed = waiting(&scenario);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!((&listed[0]["id"], &listed[0]["attempts"]), (&json!(id), &json!(0)));
    let table = scenario.finish(["messages", ELECTION]).stdout;
    assert!(table.starts_with("ID ") && table.contains(&id) && table.contains(r#"{"day":"monday""#), "{table}");

    let leader = scenario.elect_with("a", ELECTION, &["--channel", "refresh", "--channel", "other"]);
    let elected = leader.event("elected");
    let message = leader.event("message");
    for field in ["event", "election", "candidate", "pid", "at", "boot_ns", "sender", "sent_at"] {
        assert!(message.get(field).is_some(), "no {field} in {message}");
    }
    assert_eq!((&message["id"], &message["channel"]), (&json!(id), &json!("refresh")));
    assert_eq!((&message["term"], &message["attempts"]), (&elected["term"], &json!(0)));
    assert_eq!(message["payload"]["day"], "monday");
    eventually("the message to be settled", || waiting(&scenario) == json!([]));

    send(&scenario, "unheard", "1");
    send(&scenario, "other", "-7");
    assert_eq!(leader.event("message")["payload"], -7);
    eventually("only the other channel's to be left", || waiting(&scenario).as_array().unwrap().len() == 1);
    assert_eq!(waiting(&scenario)[0]["channel"], "unheard");
}

#[test]
fn every_message_is_printed_in_order_even_if_leaders_change() {
    let scenario = scenario();
    let mut ids = Vec::new();
    for number in 0..5 {
        let sent = scenario.json(&["send", ELECTION, "refresh", &number.to_string(), "--sender", "office", "--json"]);
        ids.push(sent["id"].clone());
    }
    let mut first = scenario.elect_with("a", ELECTION, &["--channel", "refresh"]);
    let mut printed: Vec<Value> = (0..3).map(|_| first.event("message")["id"].clone()).collect();
    first.signal(Signal::KILL);
    first.running.exit();
    printed.extend(first.events_to_the_end().iter().filter(|e| e["event"] == "message").map(|e| e["id"].clone()));
    let second = scenario.elect_with("b", ELECTION, &["--channel", "refresh"]);
    while printed.last() != ids.last() {
        printed.push(second.event("message")["id"].clone());
    }
    let mut once = printed.clone();
    once.sort_by_key(|id| ids.iter().position(|known| known == id));
    once.dedup();
    assert_eq!(once, ids, "each at least once: {printed:?}");
    eventually("all to be settled", || waiting(&scenario) == json!([]));
}

#[test]
fn a_leader_that_is_asked_to_end_settles_what_it_printed() {
    let scenario = scenario();
    let mut leader = scenario.elect_with("a", ELECTION, &["--channel", "refresh"]);
    leader.event("elected");
    send(&scenario, "refresh", "1");
    leader.event("message");
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
    assert_eq!(waiting(&scenario), json!([]));
}

#[test]
fn a_message_may_come_from_standard_input() {
    let scenario = scenario();
    let sent = send_from_stdin(&scenario, b"[1,\n 2]\n");
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(sent.stdout.starts_with("sent "), "{sent:?}");
    assert_eq!(waiting(&scenario)[0]["payload"], json!([1, 2]));
    let garbage = send_from_stdin(&scenario, &[0xff, 0xfe]);
    assert_eq!(garbage.code, Some(2), "{garbage:?}");
    assert!(garbage.stderr.contains("UTF-8"), "{garbage:?}");
    let endless = send_from_stdin(&scenario, format!("\"{}\"", "é".repeat(100_000)).as_bytes());
    assert!(endless.stderr.contains("longer than 65536 bytes"), "{endless:?}");
    assert_eq!(endless.code, Some(2), "{endless:?}");
}

#[test]
fn dead_letters_are_shown_and_requeued() {
    let scenario = scenario();
    let id = send(&scenario, "refresh", r#""cannot be handled""#);
    let tenure = Client::open(&scenario.store()).unwrap();
    let refuse = |_, _| Err("no such\ntable");
    let builder = tenure.election(ELECTION).unwrap().candidate().max_attempts(1);
    let candidacy = builder.on_message("refresh", refuse).start().unwrap();
    let dead_letters = || scenario.json(&["messages", ELECTION, "--dead-letters", "--json"]);
    eventually("it to be a dead letter", || dead_letters() != json!([]));
    candidacy.stop();
    assert_eq!((&dead_letters()[0]["id"], &dead_letters()[0]["attempts"]), (&json!(id), &json!(1)));
    assert_eq!(dead_letters()[0]["last_error"], "failed: no such\ntable");
    // The flag was once called so, and scripts may still use it.
    assert!(scenario.finish(["messages", ELECTION, "--aside"]).stdout.contains(r"no such\ntable"));
    assert_eq!(
        scenario.finish(["messages", ELECTION]).stdout,
        format!("no messages waiting in {ELECTION} in namespace default of {}", scenario.store())
    );

    assert_eq!(scenario.json(&["messages", ELECTION, "--requeue", &id, "--json"])["requeued"], 1);
    assert_eq!((dead_letters(), waiting(&scenario)[0]["attempts"].clone()), (json!([]), json!(0)));
    let again = scenario.finish(["messages", ELECTION, "--requeue", &id]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("--dead-letters"), "it says where to look: {again:?}");
    assert_eq!(scenario.finish(["messages", ELECTION, "--requeue-all"]).stdout, "0 message(s) requeued");
}

#[test]
fn what_cannot_be_sent_is_refused_with_a_word() {
    let scenario = scenario();
    let large = format!("\"{}\"", "x".repeat(64 * 1024));
    let cases: [(&[&str], &str); 7] = [
        (&["send", ELECTION, "refresh", "{\"a\":"], "not JSON"),
        (&["send", ELECTION, "refresh", "monday"], "'\"like this\"'"),
        (&["send", ELECTION, "refresh", &large], "65536"),
        (&["send", ELECTION, "", "1"], "channel name"),
        (&["send", ELECTION, "refresh", "1", "--sender", ""], "sender"),
        (&["elect", ELECTION, "--channel", "two\nlines"], "channel name"),
        (&["messages", ELECTION, "--requeue", "7"], "32 hexadecimal digits"),
    ];
    for (args, word) in cases {
        let refused = scenario.finish(args);
        assert_eq!(refused.code, Some(2), "{word}: {refused:?}");
        assert!(refused.stderr.contains(word), "no {word} in {refused:?}");
    }
    assert_eq!(waiting(&scenario), json!([]));
}

#[test]
fn messages_make_no_election_and_keep_to_their_namespace() {
    let scenario = scenario();
    send(&scenario, "refresh", "1");
    let [status, elsewhere] =
        ["default", "other"].map(|space| scenario.json(&["--namespace", space, "status", "--json"]));
    assert_eq!((&status[0]["term"], &status[0]["messages_waiting"]), (&Value::Null, &json!(1)), "{status}");
    assert_eq!(elsewhere, json!([]));
    assert_eq!(scenario.json(&["--namespace", "other", "messages", ELECTION, "--json"]), json!([]));
    let client = Client::open(&scenario.store()).unwrap();
    assert_eq!(client.election(ELECTION).unwrap().messages(MessageState::Pending, 10).unwrap().len(), 1);
}
