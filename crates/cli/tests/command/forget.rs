//! `tenure forget`.

use rustix::process::Signal;
use serde_json::json;
use tenure::blocking::Client;
use tenure_testkit::eventually;
use tenure_testkit::scenario::ELECTION;

use crate::support::scenario;

#[test]
fn an_election_is_forgotten_when_nobody_uses_it_and_its_terms_do_not_fall() {
    let scenario = scenario();
    assert_eq!(scenario.finish(["lock", "other", "--", "true"]).code, Some(0));
    let finished = scenario.finish(["forget", ELECTION]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("nothing to forget: there is no nightly"), "{finished:?}");

    let mut leader = scenario.elect("a");
    let term = leader.event("elected")["term"].as_u64().unwrap();
    let refused = scenario.finish(["forget", ELECTION]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("nightly is not forgotten: it has a leader"), "{refused:?}");
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);

    assert_eq!(scenario.json(&["forget", "--abandoned-for", "1h", "--json"]), json!([]));
    assert_eq!(scenario.json(&["forget", ELECTION, "--json"]), json!([ELECTION]));
    assert_eq!(scenario.json(&["status", "--json"]).as_array().unwrap().len(), 1);
    assert_eq!(scenario.json(&["history", ELECTION, "--json"]), json!([]));
    assert!(scenario.elect("b").event("elected")["term"].as_u64().unwrap() > term);
}

#[test]
fn abandoned_locks_are_forgotten_together() {
    let scenario = scenario();
    for name in ["tenant-1", "tenant-2"] {
        assert_eq!(scenario.finish(["lock", name, "--", "true"]).code, Some(0));
    }
    let _leader = scenario.candidate("a");
    scenario.next_start();
    let finished = scenario.finish(["forget", "--abandoned-for", "1ms"]);
    assert_eq!(finished.stdout, "tenant-1 is forgotten\ntenant-2 is forgotten", "{finished:?}");
    assert_eq!(scenario.json(&["status", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn forgetting_tells_how_many_dead_letters_went_with_the_election() {
    let scenario = scenario();
    let client = Client::open(&scenario.store()).unwrap();
    for name in ["one", "two", "none"] {
        let election = client.election(name).unwrap();
        let count = ["none", "one", "two"].iter().position(|known| *known == name).unwrap();
        (0..count).for_each(|number| _ = election.send("refresh", &number).unwrap());
        let builder = election.candidate().max_attempts(1).on_message("refresh", |_, _| Err("no"));
        let candidacy = builder.start().unwrap();
        candidacy.elected().unwrap();
        let dead_letters = || scenario.json(&["messages", name, "--dead-letters", "--json"]);
        eventually("all to be dead letters", || dead_letters().as_array().unwrap().len() == count);
        candidacy.stop();
    }
    assert_eq!(scenario.finish(["forget", "one"]).stdout, "one is forgotten, and 1 dead letter");
    let rest = scenario.finish(["forget", "--abandoned-for", "1ms"]);
    assert_eq!(rest.stdout, "none is forgotten\ntwo is forgotten, and 2 dead letters", "{rest:?}");
}
