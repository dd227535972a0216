//! `tenure status`, `tenure watch` and `tenure history`.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_testkit::bound::within;
use tenure_testkit::candidate::CandidateProcess;
use tenure_testkit::redis::RedisServer;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::support::{scenario, scenario_without_store};

fn leader(scenario: &Scenario, election: &str, id: &str) -> CandidateProcess {
    let leader = scenario.elect_with(id, election, &["--metadata", "zone=eu-1"]);
    leader.event("elected");
    leader
}

fn stand_by(scenario: &Scenario, election: &str, id: &str) -> CandidateProcess {
    let stand_by = scenario.elect_with(id, election, &[]);
    stand_by.stands_by();
    stand_by
}

#[test]
fn whoever_only_looks_makes_no_file_and_is_told_which_one_is_missing() {
    let scenario = scenario_without_store();
    let looks: [&[&str]; 12] = [
        &["status"],
        &["status", ELECTION, "--json"],
        &["history", ELECTION],
        &["watch"],
        &["messages", ELECTION],
        &["messages", ELECTION, "--requeue-all"],
        &["doctor"],
        &["resign", ELECTION],
        &["send", ELECTION, "refresh", "1"],
        &["broadcast", ELECTION, "refresh", "1"],
        &["cron", "status"],
        &["cron", "forget", ELECTION, "job"],
    ];
    for look in looks {
        let finished = scenario.finish(look);
        let is_doctor = look == ["doctor"];
        assert_eq!(finished.code, Some(if is_doctor { 1 } else { 69 }), "{look:?}: {finished:?}");
        let told = if is_doctor { &finished.stdout } else { &finished.stderr };
        let file = scenario.path("tenure.db");
        assert!(told.contains(file.to_str().unwrap()) && told.contains("no such file"), "{look:?}: {finished:?}");
        let default = RunningProcess::start(&mut scenario.bare(look)).finish();
        assert_eq!(default.code, finished.code, "{look:?}: {default:?}");
        assert!((default.stderr + &default.stdout).contains("home/.local/state/tenure/tenure.db"), "{look:?}");
        let left: Vec<_> =
            std::fs::read_dir(scenario.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, Vec::<std::ffi::OsString>::new(), "{look:?}");
    }
}

#[test]
fn status_tells_who_leads() {
    let scenario = scenario();
    assert_eq!(
        scenario.finish(["status"]).stdout,
        format!("no elections in namespace default of {}", scenario.store())
    );
    assert_eq!(scenario.json(&["status", "--json"]), json!([]));
    let never = scenario.json(&["status", "never", "--json"]);
    assert_eq!((&never[0]["election"], &never[0]["leader"]), (&json!("never"), &Value::Null));

    let first = leader(&scenario, "first", "a");
    let _second = leader(&scenario, "second", "b");
    let _next = stand_by(&scenario, "first", "c");
    let all = scenario.json(&["status", "--json"]);
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
    let one = &all[0];
    assert_eq!((&one["election"], &one["leader"]), (&json!("first"), &json!("a")));
    assert_eq!((&one["metadata"], &one["standing_by"]), (&json!({"zone": "eu-1"}), &json!(["c"])));
    assert!(one["term"].as_u64() > Some(0) && (1..=3000).contains(&one["remaining_ms"].as_u64().unwrap()), "{one}");
    assert!(one["since"].as_str().unwrap().ends_with('Z'));
    assert_eq!(scenario.json(&["--namespace", "other", "status", "--json"]), json!([]));

    let table = scenario.finish(["status"]).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[0].starts_with("ELECTION  LEADER"), "{table}");
    assert!(lines[1].starts_with("first     a") && lines[1].ends_with(" c"), "{table}");
    assert!(lines[2].starts_with("second    b") && lines[2].ends_with(" -"), "{table}");
    first.signal(Signal::TERM);
}

#[test]
fn watch_shows_the_change_after_a_hand_over_until_it_is_interrupted() {
    let scenario = scenario();
    let first = leader(&scenario, ELECTION, "a");
    let _second = stand_by(&scenario, ELECTION, "b");
    let mut watch = RunningProcess::start(&mut scenario.tenure(["watch", "--json"]));
    let shown = |candidate: &str| {
        watch.stdout().find(&format!("{candidate} to be shown"), |line| {
            let change: Value = serde_json::from_str(line).unwrap();
            (change["candidate"] == candidate).then_some(change)
        })
    };
    let before = shown("a");
    first.signal(Signal::TERM);
    let lost = shown("a");
    assert_eq!((&lost["event"], &lost["term"], &lost["reason"]), (&json!("lost"), &before["term"], &json!("stopped")));
    let after = shown("b");
    for field in ["event", "election", "candidate", "term", "reason", "at"] {
        assert!(after.get(field).is_some(), "no {field} in {after}");
    }
    assert_eq!((&after["event"], &after["election"]), (&json!("observed"), &json!(ELECTION)));
    assert!(after["term"].as_u64() > before["term"].as_u64());
    watch.signal(Signal::INT);
    assert_eq!(watch.code(), 130);
}

#[test]
fn status_answers_by_its_exit_code_whether_a_candidate_leads() {
    let scenario = scenario();
    let _leader = leader(&scenario, ELECTION, "a");
    assert_eq!(scenario.finish(["status", ELECTION, "--leads", "a"]).code, Some(0));
    assert_eq!(scenario.finish(["status", ELECTION, "--leads", "b"]).code, Some(1));
    assert_eq!(scenario.finish(["status", "never", "--leads", "a"]).code, Some(1));
    let stranger = scenario.finish(["status", "never"]);
    assert_eq!(stranger.code, Some(0), "{stranger:?}");
    let told = format!("never in namespace default of {} has never had a candidate", scenario.store());
    assert!(stranger.stderr.contains(&told), "{stranger:?}");
    assert_eq!(scenario.finish(["status", ELECTION]).stderr, "");
    assert_eq!(scenario.finish(["status", "--leads", "a"]).code, Some(2), "of which election?");
}

#[test]
fn a_table_that_is_watched_shows_changes_and_their_reasons() {
    let scenario = scenario();
    let first = leader(&scenario, ELECTION, "a");
    let _second = stand_by(&scenario, ELECTION, "b");
    let mut watch = RunningProcess::start(&mut scenario.tenure(["status", "--watch"]));
    watch
        .stdout()
        .find("the stand-by", |line| (line.starts_with("nightly   a ") && line.contains(" b ")).then_some(()));
    first.signal(Signal::TERM);
    let row = watch.stdout().find("the next leader", |line| line.starts_with("nightly   b ").then(|| line.to_owned()));
    assert!(row.contains("a lost term") && row.contains(": stopped, "), "{row}");
    watch.signal(Signal::TERM);
    assert_eq!(watch.code(), 143);
}

#[test]
fn watch_tells_in_words_why_a_leader_lost() {
    let scenario = scenario();
    let first = leader(&scenario, ELECTION, "a");
    let watch = RunningProcess::start(&mut scenario.tenure(["watch", ELECTION]));
    watch.stdout().find("the leader", |line| line.contains("nightly: a leads, term ").then_some(()));
    first.signal(Signal::TERM);
    let told = watch.stdout().find("the loss", |line| line.contains("a lost term").then(|| line.to_owned()));
    assert!(told.ends_with(": stopped"), "{told}");
}

#[test]
fn watch_shows_soon_what_participants_of_another_make_do() {
    let (scenario, server) = (scenario(), RedisServer::start());
    let store = format!("{}?key_pattern=%7Bname%7D", server.url());
    let watch = RunningProcess::start(&mut scenario.bare(["--store", &store, "watch", "cron-leader", "--json"]));
    let shown = |candidate: Option<&str>| {
        let begun = Instant::now();
        watch.stdout().find("a change", |line| {
            let line: Value = serde_json::from_str(line).unwrap();
            (line["candidate"].as_str() == candidate).then_some(())
        });
        within("a change to be shown", begun.elapsed(), Duration::from_secs(10));
    };
    shown(None);
    server.command(&["SET", "cron-leader", "theirs", "PX", "60000"]);
    shown(Some("theirs"));
    server.command(&["DEL", "cron-leader"]);
    shown(None);
}

#[test]
fn watch_is_told_of_an_election_that_begins_later_in_words() {
    let scenario = scenario();
    let watch = RunningProcess::start(&mut scenario.tenure(["watch", ELECTION]));
    let first = watch.stdout().next("the first look");
    assert!(first.ends_with("nightly: nobody leads"), "{first}");
    let _leader = leader(&scenario, ELECTION, "a");
    watch.stdout().find("the leader", |line| line.contains("nightly: a leads, term ").then_some(()));
}

#[test]
fn history_gives_the_reasons() {
    let scenario = scenario();
    assert!(scenario.finish(["history", ELECTION]).stdout.starts_with("there has never been a leader of nightly"));
    let killed = leader(&scenario, ELECTION, "a");
    let asked = stand_by(&scenario, ELECTION, "b");
    killed.signal(Signal::KILL);
    asked.event("elected");
    let ended = stand_by(&scenario, ELECTION, "c");
    assert_eq!(scenario.finish(["resign", ELECTION]).code, Some(0));
    ended.event("elected");
    ended.signal(Signal::TERM);
    asked.event("elected");

    let history = scenario.json(&["history", ELECTION, "--json"]);
    let lines: Vec<_> = history.as_array().unwrap().iter().rev().collect();
    let lost = |line: &&&Value| line["event"] == "lost";
    let reasons: Vec<(&Value, &Value)> =
        lines.iter().filter(lost).map(|line| (&line["candidate"], &line["reason"])).collect();
    let expected = [("a", "died"), ("b", "requested"), ("c", "stopped")].map(|(id, why)| (json!(id), json!(why)));
    assert_eq!(reasons, expected.iter().map(|(id, why)| (id, why)).collect::<Vec<_>>(), "{history}");
    let terms: Vec<u64> =
        lines.iter().filter(|l| l["event"] == "elected").map(|l| l["term"].as_u64().unwrap()).collect();
    assert!(terms.len() == 4 && terms.is_sorted_by(|a, b| a < b), "{history}");

    let table = scenario.finish(["history", ELECTION, "-n", "2"]).stdout;
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.starts_with("AT"), "{table}");
}
