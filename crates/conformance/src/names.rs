//! Every valid name is kept unchanged.

use std::collections::BTreeMap;
use std::slice::from_ref;
use std::sync::Arc;

use tenure_core::{CampaignReply, ElectionName, MAX_NAME_BYTES};
use tenure_store::Campaign;

use super::Fixture;
use super::player::{Player, all, id, key, key_in};

/// Names that have broken one program or another. Each differs from its neighbours in a way that is easy to lose.
const ODD: [&str; 27] = [
    "a",
    "A",
    "a ",
    " a",
    "🦀",
    "it's",
    "say \"hi\"",
    "back\\slash",
    "../../etc/passwd",
    "..",
    ".",
    "{tag}",
    "{tag}x",
    "100%",
    "100%25",
    "%s%n",
    "\u{e9}",
    "e\u{301}",
    "straße",
    "STRASSE",
    "x'); DROP TABLE elections; --",
    "]] .. os.exit() .. [[",
    "return redis.call('FLUSHALL')",
    "*",
    "a:b",
    "null",
    "\u{202e}desrever",
];

pub(super) async fn odd_election_names_are_kept_byte_by_byte_and_apart(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let names = odd_names();
    let leads = |name: &String| Player { candidate: id(name), ..one.in_election(key(name)) }.as_campaign();
    let batch: Vec<Campaign> = names.iter().map(leads).collect();
    for (reply, name) in all(one.store.campaign(&batch).await).into_iter().zip(&names) {
        assert!(matches!(reply, CampaignReply::Granted { .. }), "{name:?} is an election of its own");
    }
    let keys: Vec<_> = names.iter().map(|name| key(name)).collect();
    for (seen, name) in all(one.store.observe(&keys).await).into_iter().zip(&names) {
        assert_eq!(seen.lease.expect("a lease").leader.candidate.as_str(), name);
    }
    let mut expected = names;
    expected.sort();
    let listed = one.store.elections(&one.key.namespace).await.expect("a list");
    assert_eq!(listed.iter().map(ElectionName::as_str).collect::<Vec<_>>(), expected);
}

pub(super) async fn odd_namespaces_are_kept_byte_by_byte_and_apart(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let names = odd_names();
    for namespace in &names {
        Player { candidate: id(namespace), ..one.in_election(key_in(namespace, "same")) }.wins().await;
    }
    for namespace in &names {
        let key = key_in(namespace, "same");
        assert_eq!(one.store.elections(&key.namespace).await.expect("a list"), from_ref(&key.name));
        let lease = one.in_election(key).observes().await.lease;
        assert_eq!(lease.expect("a lease").leader.candidate.as_str(), namespace);
    }
}

pub(super) async fn odd_candidate_ids_are_kept_byte_by_byte(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    for name in odd_names() {
        let leader = Player { candidate: id(&name), ..one.again() };
        let waiting = Player { candidate: id(&name), ..one.again() };
        let term = leader.wins().await;
        assert_eq!(waiting.is_kept_out().await.leader.expect("a leader").candidate.as_str(), name);
        assert_eq!(one.sees_standing_by().await, [id(&name)]);
        leader.resigns_to(term, &name).await;
        assert_eq!(one.observes().await.reserved_for, Some(id(&name)));
        let told = one.store.history(&one.key, 1).await.expect("a history");
        assert_eq!(told[0].candidate.as_str(), name);
        let next = waiting.wins().await;
        waiting.resigns(next).await;
    }
}

pub(super) async fn a_successor_is_named_byte_by_byte(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let (composed, decomposed) = (Player::new(fixture, "\u{e9}").await, Player::new(fixture, "e\u{301}").await);
    let term = one.wins().await;
    one.resigns_to(term, "\u{e9}").await;
    decomposed.is_kept_out().await;
    composed.wins().await;
}

pub(super) async fn large_metadata_survives(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let mut metadata: BTreeMap<String, String> =
        odd_names().into_iter().map(|name| (format!("key {name}"), name)).collect();
    metadata.insert("large".to_owned(), "4\u{a0}kB ".repeat(700));
    metadata.insert("lines".to_owned(), "one\r\n\ttwo\u{7f}".to_owned());
    metadata.insert(String::new(), String::new());
    let one = Player { metadata: Arc::new(metadata), ..one };
    one.wins().await;
    assert_eq!(other.is_kept_out().await.leader.expect("a leader").metadata, one.metadata);
    assert_eq!(other.observes().await.lease.expect("a lease").leader.metadata, one.metadata);
}

pub(super) fn odd_names() -> Vec<String> {
    let longest = ["x".repeat(MAX_NAME_BYTES), "🦀".repeat(MAX_NAME_BYTES / 4)];
    ODD.iter().map(|name| (*name).to_owned()).chain(longest).collect()
}
