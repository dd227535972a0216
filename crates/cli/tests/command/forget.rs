//! `tenure forget`.

use rustix::process::Signal;
use serde_json::json;
use tenure_testkit::scenario::ELECTION;

use crate::support::scenario;

#[test]
fn an_election_is_forgotten_when_nobody_uses_it_and_its_terms_do_not_fall() {
    let scenario = scenario();
    assert_eq!(scenario.finish(["lock", "other", "--", "true"]).code, Some(0));
    let finished = scenario.finish(["forget", ELECTION]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("there is nothing to forget of nightly"), "{finished:?}");

    let mut leader = scenario.elect("a");
    let term = leader.event("elected")["term"].as_u64().unwrap();
    let refused = scenario.finish(["forget", ELECTION]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("nightly is not forgotten: somebody leads it"), "{refused:?}");
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
