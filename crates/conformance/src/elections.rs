//! Listing elections.

use tenure_core::Term;

use super::Fixture;
use super::player::{Player, id, key, key_in};

pub(super) async fn elections_are_listed_per_namespace_in_order(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    for name in ["c", "a", "B", "b"] {
        one.in_election(key(name)).wins().await;
    }
    one.in_election(key_in("other", "d")).wins().await;
    assert_eq!(listed(&one, "default").await, ["B", "a", "b", "c"], "byte by byte");
    assert_eq!(listed(&one, "other").await, ["d"]);
    assert_eq!(listed(&one, "unknown").await, [""; 0]);
}

pub(super) async fn an_election_is_listed_when_nobody_leads_any_more(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    one.resigns(term).await;
    assert_eq!(listed(&one, "default").await, ["nightly-report"]);
}

pub(super) async fn only_a_candidate_makes_an_election(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    one.observes().await;
    one.has_lost(Term::after(None).expect("a first term")).await;
    one.withdraws().await;
    assert!(!one.store.request_handover(&one.key, Some(&id("one"))).await.expect("an answer"));
    assert_eq!(listed(&one, "default").await, [""; 0]);
}

pub(super) async fn namespaces_do_not_meet(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let elsewhere = other.in_election(key_in("elsewhere", one.key.name.as_str()));
    let (here, there) = (one.wins().await, elsewhere.wins().await);
    one.resigns(here).await;
    elsewhere.keeps(there).await;
    assert_eq!(one.sees_term().await, None);
}

pub(super) async fn no_name_reaches_into_another_namespace(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    for separator in ["/", ":", ".", "|", "}", "%2F", "\u{1f980}"] {
        let left = key_in(&format!("a{separator}b"), "c");
        let right = key_in("a", &format!("b{separator}c"));
        one.in_election(left).wins().await;
        one.in_election(right).wins().await;
    }
}

async fn listed(player: &Player, namespace: &str) -> Vec<String> {
    let namespace = key_in(namespace, "any").namespace;
    let names = player.store.elections(&namespace).await.expect("a list");
    names.into_iter().map(|name| name.as_str().to_owned()).collect()
}
