//! `tenure broadcast` and `tenure elect --broadcasts`.

use serde_json::json;
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::support::scenario;

fn broadcast(scenario: &Scenario, channel: &str, payload: &str) -> String {
    let sent = scenario.json(&["broadcast", ELECTION, channel, payload, "--sender", "office", "--json"]);
    assert_eq!((&sent["election"], &sent["channel"]), (&json!(ELECTION), &json!(channel)));
    sent["id"].as_str().unwrap().to_owned()
}

#[test]
fn every_candidate_prints_what_is_said_and_only_what_it_asked_for() {
    let scenario = scenario();
    let leader = scenario.elect_with("a", ELECTION, &["--broadcasts", "reload"]);
    let follower = scenario.elect_with("b", ELECTION, &["--broadcasts", "reload", "--broadcasts", "other"]);
    for (candidate, channels) in [(&leader, 1), (&follower, 2)] {
        for _ in 0..channels {
            let listening = candidate.event("listening");
            assert!(listening.get("id").is_none() && listening["channel"].is_string(), "{listening}");
        }
    }
    broadcast(&scenario, "unheard", "0");
    let id = broadcast(&scenario, "reload", r#"{ "table" : "prices", "number" : 12345678901234567890123 }"#);
    for (name, candidate) in [("a", &leader), ("b", &follower)] {
        let said = candidate.event("broadcast");
        for field in ["event", "election", "candidate", "pid", "at", "boot_ns"] {
            assert!(said.get(field).is_some(), "no {field} in {said}");
        }
        assert_eq!((&said["id"], &said["channel"], &said["candidate"]), (&json!(id), &json!("reload"), &json!(name)));
        assert_eq!((&said["sender"], &said["payload"]["table"]), (&json!("office"), &json!("prices")));
    }
    broadcast(&scenario, "other", "-7");
    assert_eq!(follower.event("broadcast")["payload"], -7);
}

#[test]
fn that_nobody_listens_is_no_error_and_nothing_waits() {
    let scenario = scenario();
    let sent = scenario.finish(["broadcast", ELECTION, "reload", "1"]);
    assert!(sent.code == Some(0) && sent.stdout.starts_with("sent "), "{sent:?}");
    assert_eq!(scenario.json(&["messages", ELECTION, "--json"]), json!([]));
    assert_eq!(scenario.json(&["status", "--json"]), json!([]), "it makes no election");
}

#[test]
fn what_cannot_be_said_is_refused_with_a_word() {
    let scenario = scenario();
    let too_large = format!("\"{}\"", "x".repeat(64 * 1024));
    for (arguments, why) in [
        (["broadcast", ELECTION, "reload", "no json"], "is not JSON"),
        (["broadcast", ELECTION, "", "1"], "it is empty"),
        (["broadcast", ELECTION, "reload", &too_large], "at most 65536 are allowed"),
    ] {
        let refused = scenario.finish(arguments);
        assert!(refused.code != Some(0) && refused.stderr.contains(why), "{refused:?}");
    }
    let refused = scenario.finish(["elect", ELECTION, "--broadcasts", "two\nlines"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("control character"), "{refused:?}");
}
