//! `tenure forget`.

use rustix::process::Signal;
use serde_json::json;
use tenure_testkit::site::ELECTION;

use crate::support::site;

#[test]
fn an_election_is_forgotten_when_nobody_uses_it_and_its_terms_do_not_fall() {
    let site = site();
    assert_eq!(site.finish(["lock", "other", "--", "true"]).code, Some(0));
    let finished = site.finish(["forget", ELECTION]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("there is nothing to forget of nightly"), "{finished:?}");

    let mut leader = site.elect("a");
    let term = leader.event("elected")["term"].as_u64().unwrap();
    let refused = site.finish(["forget", ELECTION]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("nightly is not forgotten: somebody leads it"), "{refused:?}");
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);

    assert_eq!(site.json(&["forget", "--abandoned-for", "1h", "--json"]), json!([]));
    assert_eq!(site.json(&["forget", ELECTION, "--json"]), json!([ELECTION]));
    assert_eq!(site.json(&["status", "--json"]).as_array().unwrap().len(), 1);
    assert_eq!(site.json(&["history", ELECTION, "--json"]), json!([]));
    assert!(site.elect("b").event("elected")["term"].as_u64().unwrap() > term);
}

#[test]
fn abandoned_locks_are_forgotten_together() {
    let site = site();
    for name in ["tenant-1", "tenant-2"] {
        assert_eq!(site.finish(["lock", name, "--", "true"]).code, Some(0));
    }
    let _leader = site.candidate("a");
    site.next_start();
    let finished = site.finish(["forget", "--abandoned-for", "1ms"]);
    assert_eq!(finished.stdout, "tenant-1 is forgotten\ntenant-2 is forgotten", "{finished:?}");
    assert_eq!(site.json(&["status", "--json"]).as_array().unwrap().len(), 1);
}
